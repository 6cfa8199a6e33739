"""Zhang: group levels while the ratio of wait to run time falls."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest
from headway.grouping.leeway import Search, coarse, halving, one_way, with_leeway
from headway.grouping.simple import full_width

# GLUME thesis, §5.1: with a wait above twice the run time, single-task jobs have a better chance of backfilling.
HOPELESS = 2.0


@dataclass(frozen=True, kw_only=True)
class Zhang(Grouper):
    """Adds levels while the ratio of wait to run time does not grow (Zhang, Koelbel and Cooper 2009).

    As described in the GLUME thesis, §5.1. All remaining levels are tried first, then the first level, the first two,
    and so on, until a group is worse than the one before it, which is then chosen. Of equal ratios the one with the
    most levels wins. If everything as one job is chosen and waits for more than twice its run time: a job per task.

    The thesis's enhancements (§5.3): `everywhere` tries every group and takes the best; `best_nodes` requests the
    number of nodes that ends first instead of the most that can be used (the default, as in the thesis);
    `leeway=smallest` finds the leeway by binary search.

    Where the thesis's simulator differs from its text: `from_first` tries everything as one job last, not first;
    `skip_waits` ignores groups that wait longer than they run until one does not; `judge_full_width` compares groups on
    the most nodes that they can use, and picks the best number for the chosen group only.

    >>> import numpy as np
    >>> from headway.model.task import Task
    >>> tasks = [Task("a", "a", "-"), Task("b", "b", "-", parents=("a",))]
    >>> levels = Levels(tasks, lambda task: 1000.0, most_nodes=4)
    >>> Zhang().next_group(levels, lambda nodes, seconds: np.where(seconds > 1500.0, 9000.0, 0.0), delay_s=0.0)
    Group(first=0, last=0, nodes=1, run_s=1000.0, leeway_s=0.0, wait_s=0.0)
    """

    name = "zhang"

    everywhere: bool = False
    best_nodes: bool = True
    leeway: Search = one_way
    from_first: bool = False
    skip_waits: bool = False
    judge_full_width: bool = False

    @classmethod
    def as_coded(cls, *, everywhere: bool = False, best_nodes: bool = True, binary_search: bool = False) -> Zhang:
        """The variant that the simulator of the GLUME thesis implements, with its three enhancements as options."""
        return cls(
            everywhere=everywhere,
            best_nodes=best_nodes,
            leeway=coarse if binary_search else halving,
            from_first=True,
            skip_waits=True,
            judge_full_width=True,
        )

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group | None:
        group = self._choose(levels, waits, delay_s)
        if group.last == levels.last and group.wait_s > HOPELESS * group.run_s:
            return None
        if self.best_nodes and self.judge_full_width:
            group = soonest(levels, waits, 0, group.last, delay_s)
        return with_leeway(group, waits, delay_s, self.leeway)

    def _choose(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        ends = range(levels.last + 1) if self.from_first else [levels.last, *range(levels.last)]
        best: Group | None = None
        for last in ends:
            group = self._candidate(levels, waits, last, delay_s)
            if best is None and self.skip_waits and group.wait_s > group.run_s:
                continue
            if best is None or _is_better(group, best):
                best = group
            elif not self.everywhere:
                break
        return best or self._candidate(levels, waits, levels.last, delay_s)

    def _candidate(self, levels: Levels, waits: Waits, last: int, delay_s: float) -> Group:
        if self.best_nodes and not self.judge_full_width:
            return soonest(levels, waits, 0, last, delay_s)
        return full_width(levels, waits, 0, last)


def _is_better(group: Group, other: Group) -> bool:
    # Negated: of equal ratios the one with more levels wins.
    return (_ratio(group), -group.last) < (_ratio(other), -other.last)


def _ratio(group: Group) -> float:
    if group.run_s:
        return group.wait_s / group.run_s
    return math.inf if group.wait_s else 0.0
