"""What becomes of tasks that have failed, among those that are alike otherwise (paper 004, section III-C)."""

from __future__ import annotations

from typing import Literal

FailureHandling = Literal["persevere", "postpone"]


def place(failures: int, handling: FailureHandling) -> int:
    """The more failures the sooner (persevere), or the later (postpone)."""
    return -failures if handling == "persevere" else failures
