"""GLUME: split the remaining levels into two jobs so that the second ends as early as possible."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest
from headway.grouping.leeway import Search, coarse, smallest, with_leeway

# GLUME thesis, Algorithm 1, lines 9 and 14: the most leeway, as a share of the run time.
MOST_LEEWAY = 0.1
# The thesis wants a value above 0 and names none. In its chapter 7 one plan beats another from 5% on.
BEAT = 0.05


@dataclass(frozen=True, kw_only=True)
class Glume(Grouper):
    """Splits the levels in two where the estimated makespan is least, or not at all (GLUME thesis, §6).

    Algorithms 1 to 3 of the thesis: every split into two jobs is tried, each job on its best number of nodes. Only the
    first part becomes a job; when it starts, the remaining levels are split again.

    `beat`: a split must be shorter than one job for everything by this share. `leeway`: the search for the extra
    walltime of a job that may start too early; a part with more leeway than a tenth of its run time is rejected. Where
    the thesis's simulator differs from its text: `overlapping` replaces line 17 by wait + max(run, second wait) +
    second run; `more_nodes` prefers the most of equally good numbers of nodes.

    Unlike the thesis, we expect limits under which the remaining levels fit into no two jobs. Then the longest first
    part that could start is taken; if there is none, the group's wait is infinite: it cannot be submitted now.

    >>> import numpy as np
    >>> from headway.model.task import Task
    >>> tasks = [Task("a", "a", "-"), Task("b", "b", "-", parents=("a",))]
    >>> levels = Levels(tasks, lambda task: 1000.0, most_nodes=4)
    >>> Glume().next_group(levels, lambda nodes, seconds: np.where(seconds > 1500.0, 9000.0, 1000.0), delay_s=0.0)
    Group(first=0, last=0, nodes=1, run_s=1000.0, leeway_s=0.0, wait_s=1000.0)
    """

    name = "glume"

    beat: float = BEAT
    leeway: Search = smallest
    overlapping: bool = False
    more_nodes: bool = False

    @classmethod
    def as_coded(cls) -> Glume:
        """The variant that the simulator of the GLUME thesis implements."""
        return cls(beat=0.0, leeway=coarse, overlapping=True, more_nodes=True)

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        whole = best = self._allocation(levels, waits, 0, levels.last, delay_s)
        whole_s = best_s = whole.wait_s + whole.leeway_s + whole.run_s
        able = whole
        for last in range(levels.last):
            group = self._allocation(levels, waits, 0, last, delay_s)
            if math.isfinite(group.wait_s):
                able = group
            if _is_wasteful(group):
                continue
            rest = self._allocation(levels, waits, last + 1, levels.last, group.leeway_s + group.run_s)
            if _is_wasteful(rest):
                continue
            makespan_s = self._makespan_s(group, rest)
            if makespan_s < whole_s * (1 - self.beat) and makespan_s < best_s:
                best, best_s = group, makespan_s
        return best if math.isfinite(best_s) else able

    def _allocation(self, levels: Levels, waits: Waits, first: int, last: int, delay_s: float) -> Group:
        """Algorithm 2: the best number of nodes, with leeway."""
        group = soonest(levels, waits, first, last, delay_s, more=self.more_nodes)
        return with_leeway(group, waits, delay_s, self.leeway)

    def _makespan_s(self, group: Group, rest: Group) -> float:
        """Algorithm 1, line 17; the second job is submitted when the first starts."""
        starts_s = max(group.leeway_s + group.run_s, rest.wait_s) if self.overlapping else rest.wait_s
        return group.wait_s + starts_s + rest.leeway_s + rest.run_s


def _is_wasteful(group: Group) -> bool:
    return group.leeway_s > MOST_LEEWAY * group.run_s
