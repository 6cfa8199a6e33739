"""When workflows begin: at half-hours of the thesis's one week, or of four weeks drawn from the seed."""

from __future__ import annotations

import zlib

import numpy as np
from msgspec import Struct

DAY_S = 86400.0
_STEP_S = 1800.0
SLOTS = 48 * 6 + 1  # §4.3: half-hours from the end of the first day to the end of the week
WEEKS = 4
WARM_UP_S = 7 * DAY_S
_AFTERWARDS_S = 14 * DAY_S  # of the log that must follow the last start of a week


class Week(Struct, frozen=True):
    """A part of the log: when its simulation begins, and when the first workflow may begin."""

    begins_s: float
    first_s: float

    def slot_s(self, slot: int) -> float:
        """The start of that number; starts are half an hour apart."""
        return self.first_s + slot * _STEP_S


THESIS_WEEK = Week(0.0, DAY_S)


def seeded_weeks(log: str, last_submit_s: float, seed: int) -> list[Week]:
    """One week in each quarter of the log, seven days of warm-up before it."""
    latest_s = last_submit_s - _AFTERWARDS_S - SLOTS * _STEP_S
    quarter_s = (latest_s - WARM_UP_S) / WEEKS
    draws = _generator(seed, log, "weeks").random(WEEKS)
    hours = [round((WARM_UP_S + (number + draw) * quarter_s) / 3600) for number, draw in enumerate(draws)]
    return [Week(hour * 3600.0 - WARM_UP_S, hour * 3600.0) for hour in hours]


def starts_of(weeks: list[Week], log: str, workflow: str, count: int, seed: int) -> list[tuple[Week, float]]:
    """`count` starts of a workflow, taken from the weeks in turn; a greater `count` has the same starts and more.

    Each workflow has starts of its own, so that plans meet many different queues.
    """
    first = int(_generator(seed, log, workflow).integers(len(weeks)))
    slots = [_generator(seed, log, workflow, str(number)).permutation(SLOTS) for number in range(len(weeks))]
    chosen = []
    for number in range(min(count, SLOTS * len(weeks))):
        turn, which = number // len(weeks), (first + number) % len(weeks)
        chosen.append((weeks[which], weeks[which].slot_s(int(slots[which][turn]))))
    return chosen


def _generator(seed: int, *words: str) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, zlib.crc32(" ".join(words).encode())]))
