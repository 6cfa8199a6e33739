"""How much longer than it runs a job is held open, in case it starts before the job ahead of it has ended (002 §5.1).

The naive leeway is what is missing without any. But asking for more time changes how long the job waits, so the leeway
has to be searched for: in one of the ways of 002's text, or in one of its simulator's code (`coarse`, `halving`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from headway.grouping.base import Group, Waits

# 002 §5.3: an arbitrarily chosen "small" duration.
CLOSE_S = 600.0
# Queues count in seconds, so nobody searches between two.
STEP_S = 1.0

WaitWith = Callable[[float], float]  # how long a job waits that is held open for so many seconds more than it runs
# How much leeway, if the job waits so long without, and cannot do anything before so many seconds, which is later.
Search = Callable[[WaitWith, float, float], float]


def with_leeway(group: Group, waits: Waits, delay_s: float, search: Search) -> Group:
    """The group with the leeway that it needs, and with the wait to which that leads (002, Algorithm 2 line 3)."""
    if group.wait_s >= delay_s:
        return group

    def wait_with(leeway_s: float) -> float:
        return float(waits([group.nodes], np.array([group.run_s + leeway_s]))[0])

    leeway_s = search(wait_with, group.wait_s, delay_s)
    return replace(group, leeway_s=leeway_s, wait_s=wait_with(leeway_s))


def one_way(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """Zhang's search as 002 §5.3 tells it: half of what is missing is added until the job starts after the delay.

    It also ends when the job, though it starts too early, is held open for long enough: 002 fixed an endless loop here
    and does not say how. A job that by then starts more than ten minutes late stays so: the leeway can only grow.
    """
    leeway_s = 0.0
    while leeway_s < delay_s - wait_s:
        leeway_s = min(delay_s, leeway_s + max(STEP_S, (delay_s - wait_s) / 2))
        wait_s = wait_with(leeway_s)
    return leeway_s


def smallest(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """The smallest leeway up to the naive one with which the job starts in the ten minutes after the delay (002 §5.3).

    Where there is none, the smallest with which the job is held open for long enough though it starts too early.
    """
    return _smallest(wait_with, delay_s - wait_s, delay_s)


def smallest_up_to_delay(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """The same, looking further: up to the delay (002 §6.2)."""
    return _smallest(wait_with, delay_s, delay_s)


def coarse(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """The simulator's binary search: to within ten minutes, for a start in the ten minutes *before* the delay."""
    low_s, high_s = 0.0, delay_s - wait_s
    while high_s - low_s >= CLOSE_S:
        middle_s = float(math.floor((low_s + high_s) / 2))
        early_s = delay_s - wait_with(middle_s)
        if 0 <= early_s < CLOSE_S:
            return middle_s
        if early_s < 0:
            high_s = middle_s - 1
        else:
            low_s = middle_s + 1
    return high_s


def halving(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """Zhang's search as the simulator has it: from the naive leeway down, while half of it still makes the job late."""
    leeway_s = delay_s - wait_s
    while leeway_s > CLOSE_S and wait_with(leeway_s / 2) > delay_s:
        leeway_s /= 2
    return leeway_s


def _smallest(wait_with: WaitWith, most_s: float, delay_s: float) -> float:
    after_s = _first(lambda leeway_s: wait_with(leeway_s) >= delay_s, most_s)
    if after_s is not None and wait_with(after_s) <= delay_s + CLOSE_S:
        return after_s
    enough_s = _first(lambda leeway_s: leeway_s >= delay_s - wait_with(leeway_s), most_s)
    # Only a queue that rewards asking for more can make the naive leeway too short. The delay never is.
    return delay_s if enough_s is None else enough_s


def _first(holds: Callable[[float], bool], most_s: float) -> float | None:
    """To a second, from where on it holds, by binary search; None if not even at most."""
    if not holds(most_s):
        return None
    low_s, high_s = 0.0, most_s
    while high_s - low_s > STEP_S:
        middle_s = float(math.ceil((low_s + high_s) / 2))  # still below `high_s`, which may be no whole second
        low_s, high_s = (low_s, middle_s) if holds(middle_s) else (middle_s, high_s)
    return high_s
