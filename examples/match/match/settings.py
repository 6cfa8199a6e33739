"""How large everything is, and how many cores a search may use: from the environment, as workflow.yaml sets it."""

from __future__ import annotations

import os
from dataclasses import dataclass

VOLUME_MB = 4.0
QUERIES = 1800
PARTS = 24


@dataclass(frozen=True)
class Settings:
    """The sizes that the workflow's ``env`` asks for."""

    volume_bases: int = int(VOLUME_MB * 1e6)
    queries: int = QUERIES
    parts: int = PARTS

    @classmethod
    def from_environment(cls) -> Settings:
        return cls(
            volume_bases=int(float(os.environ.get("MATCH_VOLUME_MB", VOLUME_MB)) * 1e6),
            queries=int(os.environ.get("MATCH_QUERIES", QUERIES)),
            parts=int(os.environ.get("MATCH_PARTS", PARTS)),
        )


def cores() -> int:
    """What ``MATCH_CORES`` says, or else what Headway gave this task; a part of a core counts as one."""
    return max(1, int(float(os.environ.get("MATCH_CORES") or os.environ.get("HEADWAY_CORES") or 1)))
