"""Groupers that make one job for everything that remains, or one for each level."""

from __future__ import annotations

import numpy as np

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest


class OneJob(Grouper):
    """One job for everything, with the number of nodes that is expected to end first (GLUME thesis, §5.2)."""

    name = "one-job"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        return soonest(levels, waits, 0, levels.last, delay_s)


class BigJob(Grouper):
    """One job for everything, with as many nodes as the widest level can use (Souza et al. 2020, §4.1)."""

    name = "big-job"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        return full_width(levels, waits, 0, levels.last)


class LevelByLevel(Grouper):
    """A job for each level, with the number of nodes that is expected to end first (GLUME thesis, §5.2)."""

    name = "level-by-level"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        return soonest(levels, waits, 0, 0, delay_s)


class PerStage(Grouper):
    """A job for each level, with as many nodes as the level can use (Souza et al. 2020, §4.1)."""

    name = "per-stage"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        return full_width(levels, waits, 0, 0)


def full_width(levels: Levels, waits: Waits, first: int, last: int) -> Group:
    """A group of these levels on as many nodes as they can use."""
    nodes, run_s = levels.width(first, last), float(levels.run_s(first, last)[-1])
    return Group(first, last, nodes, run_s, wait_s=float(waits([nodes], np.array([run_s]))[0]))
