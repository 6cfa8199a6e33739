"""Where failed tasks go among equals: first (persevere) or last (postpone); Witt et al. 2019, section III-C."""

from __future__ import annotations

from typing import Literal

FailureHandling = Literal["persevere", "postpone"]


def place(failures: int, handling: FailureHandling) -> int:
    """Return a key that is smaller the more failures there are (persevere), or greater (postpone)."""
    return -failures if handling == "persevere" else failures
