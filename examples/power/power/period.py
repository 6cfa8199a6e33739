"""The period: how many days of minutes there are, and the twelve chunks they are worked on in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

START = np.datetime64("2007-01-01T00:00")  # a Monday
DAY_MINUTES = 1440
DEFAULT_DAYS = 365
FEWEST_DAYS = 24  # in fewer, faults and their neighbourhood would be most of what there is
CHUNKS = [f"{number:02d}" for number in range(1, 13)]


@dataclass(frozen=True)
class Period:
    """Minutes are counted from the period's first midnight; a chunk is a twelfth of it, in whole days."""

    days: int = DEFAULT_DAYS

    @classmethod
    def from_environment(cls) -> Period:
        """The period that the workflow's ``env`` asks for."""
        days = os.environ.get("POWER_DAYS", str(DEFAULT_DAYS))
        if not days.isdecimal() or int(days) < FEWEST_DAYS:
            raise SystemExit(f"POWER_DAYS is {days!r}; give it a whole number of days, {FEWEST_DAYS} or more")
        return cls(int(days))

    @property
    def minutes(self) -> int:
        return self.days * DAY_MINUTES

    @property
    def season_days(self) -> int:
        """A year; a shorter period is a year in a hurry, so that it too has a winter and a summer."""
        return min(self.days, 365)

    def chunk(self, name: str) -> range:
        """The minutes of a chunk."""
        index = CHUNKS.index(name)
        first, end = (part * self.days // len(CHUNKS) for part in (index, index + 1))
        return range(first * DAY_MINUTES, end * DAY_MINUTES)

    def with_neighbours(self, name: str) -> range:
        """A chunk and the day on either side of it, where there is one."""
        chunk = self.chunk(name)
        return range(max(0, chunk.start - DAY_MINUTES), min(self.minutes, chunk.stop + DAY_MINUTES))


def neighbourhood(name: str) -> list[str]:
    """A chunk, the one before it and the one after it, as far as there are such."""
    index = CHUNKS.index(name)
    return CHUNKS[max(0, index - 1) : index + 2]


def is_weekend(minute: Array) -> Array:
    return minute // DAY_MINUTES % 7 >= 5
