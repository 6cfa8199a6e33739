"""Leeway: extra walltime for a job that may start before its predecessor has ended (GLUME thesis, §5.1).

The naive leeway is the time by which the job would start too early. But a longer walltime changes the job's wait, so
the leeway has to be searched for. `one_way` and `smallest` follow the text of the thesis; `coarse` and `halving`
follow the code of its simulator.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from headway.grouping.base import Group, Waits

# GLUME thesis, §5.3: an arbitrarily chosen "small" duration.
CLOSE_S = 600.0
# Queues count in whole seconds.
STEP_S = 1.0

WaitWith = Callable[[float], float]  # leeway -> queue wait of the job with that leeway
# (wait by leeway, wait without leeway, delay before its tasks can start, which is longer than that wait) -> leeway
Search = Callable[[WaitWith, float, float], float]


def with_leeway(group: Group, waits: Waits, delay_s: float, search: Search) -> Group:
    """The group with the leeway that it needs and the resulting wait (GLUME thesis, Algorithm 2, line 3)."""
    if group.wait_s >= delay_s:
        return group

    def wait_with(leeway_s: float) -> float:
        return float(waits([group.nodes], np.array([group.run_s + leeway_s]))[0])

    leeway_s = search(wait_with, group.wait_s, delay_s)
    return replace(group, leeway_s=leeway_s, wait_s=wait_with(leeway_s))


def one_way(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """Zhang's search (GLUME thesis, §5.3): add half of the missing time until the job starts after the delay.

    The search also ends when the leeway covers the time by which the job starts too early: the thesis repaired an
    endless loop here and does not say how. The leeway only grows, so that a job may end up starting very late.
    """
    leeway_s = 0.0
    while leeway_s < delay_s - wait_s:
        leeway_s = min(delay_s, leeway_s + max(STEP_S, (delay_s - wait_s) / 2))
        wait_s = wait_with(leeway_s)
    return leeway_s


def smallest(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """The smallest leeway, up to the whole delay, with which the job starts in the ten minutes after it (§6.2).

    If there is none: the smallest leeway that covers the time by which the job starts too early.
    """
    if wait_with(delay_s) >= delay_s:
        after_s = _first(lambda leeway_s: wait_with(leeway_s) >= delay_s, delay_s)
        if wait_with(after_s) <= delay_s + CLOSE_S:
            return after_s
    return _first(lambda leeway_s: leeway_s >= delay_s - wait_with(leeway_s), delay_s)


def coarse(wait_with: WaitWith, wait_s: float, delay_s: float) -> float:
    """The simulator's binary search, ten minutes fine, for a start in the ten minutes *before* the delay ends."""
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
    """Zhang's search in the simulator: halve the naive leeway while the job would still start late with half of it."""
    leeway_s = delay_s - wait_s
    while leeway_s > CLOSE_S and wait_with(leeway_s / 2) > delay_s:
        leeway_s /= 2
    return leeway_s


def _first(holds: Callable[[float], bool], most_s: float) -> float:
    """Binary search to a second for the least value at which `holds` is true; it is true at `most_s`."""
    low_s, high_s = 0.0, most_s
    while high_s - low_s > STEP_S:
        middle_s = float(math.ceil((low_s + high_s) / 2))  # still below `high_s`, which may be no whole second
        low_s, high_s = (low_s, middle_s) if holds(middle_s) else (middle_s, high_s)
    return high_s
