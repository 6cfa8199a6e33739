"""Groupers that make a job for each level."""

from __future__ import annotations

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest
from headway.grouping.whole import full_width


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
