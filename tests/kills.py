"""How many processes the tests of this process have killed, for the totals of `make chaos`."""

from __future__ import annotations

PROPERTY = "kills"  # of a test's report
_killed: list[int] = []


def add(number: int = 1) -> int:
    """Note that so many processes were killed with SIGKILL; return that number."""
    _killed.append(number)
    return number


def total() -> int:
    """Return how many were killed so far."""
    return sum(_killed)
