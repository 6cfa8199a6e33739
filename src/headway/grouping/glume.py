"""The first of two jobs into which the levels are split so that the second is through soonest."""

from __future__ import annotations

import math

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest
from headway.grouping.leeway import Search, coarse, smallest_up_to_delay, with_leeway

# 002, Algorithm 1, lines 9 and 14: nodes stand idle for no more than this share of a job.
MOST_LEEWAY = 0.1
# 002 wants it above 0 and names none. Its chapter 7 says that a plan beats another from 5% on.
BEAT = 0.05


class Glume(Grouper):
    """Splits the levels in two where the estimated makespan is least, or not at all (002 §6, Algorithms 1 to 3).

    Only the first part becomes a job; when that starts, what remains is looked at again. A split has to be shorter by
    the share `beat` than everything as one job, and the leeway of neither part more than a tenth of its run time.

    Where 002's simulator does otherwise: `overlapping` takes wait + max(run, the second's wait) + the second's run for
    the makespan instead of line 17; of equal numbers of nodes `more_nodes` takes the greatest, not the smallest; the
    search for the `leeway` is `coarse`; `beat` is 0.

    002 does not think of limits that leave what remains no place, not even in two jobs. Then the longest first part
    that could start at all is taken. If there is none, the group's wait is endless: it cannot be submitted now.
    """

    name = "glume"

    def __init__(
        self,
        *,
        beat: float = BEAT,
        leeway: Search = smallest_up_to_delay,
        overlapping: bool = False,
        more_nodes: bool = False,
    ) -> None:
        self._beat = beat
        self._leeway = leeway
        self._overlapping = overlapping
        self._more_nodes = more_nodes

    @classmethod
    def as_coded(cls) -> Glume:
        """What 002's simulator does."""
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
            if makespan_s < whole_s * (1 - self._beat) and makespan_s < best_s:
                best, best_s = group, makespan_s
        return best if math.isfinite(best_s) else able

    def _allocation(self, levels: Levels, waits: Waits, first: int, last: int, delay_s: float) -> Group:
        """Algorithm 2."""
        group = soonest(levels, waits, first, last, delay_s, more=self._more_nodes)
        return with_leeway(group, waits, delay_s, self._leeway)

    def _makespan_s(self, group: Group, rest: Group) -> float:
        """Line 17. The second job is submitted when the first starts."""
        starts_s = max(group.leeway_s + group.run_s, rest.wait_s) if self._overlapping else rest.wait_s
        return group.wait_s + starts_s + rest.leeway_s + rest.run_s


def _is_wasteful(group: Group) -> bool:
    return group.leeway_s > MOST_LEEWAY * group.run_s
