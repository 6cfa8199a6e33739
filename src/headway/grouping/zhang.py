"""As many levels together as make waiting cheap for its running time."""

from __future__ import annotations

import math

from headway.grouping.base import Group, Grouper, Levels, Waits, soonest
from headway.grouping.leeway import Search, coarse, halving, one_way, with_leeway
from headway.grouping.whole import full_width

# 002 §5.1: with a wait of more than twice the run time, small jobs are hoped to be backfilled.
HOPELESS = 2.0


class Zhang(Grouper):
    """Adds levels while the ratio of wait to run time does not grow (Zhang, Koelbel and Cooper 2009, as in 002 §5.1).

    All that remains is looked at first, then the first level, the first two, and so on, until a group is worse than the
    one before it, which is then chosen. Of equals, most levels. If that is everything together, and it waits for more
    than twice its run time: a job for each task.

    002 §5.3's enhancements: `everywhere` looks at every group and takes the best; `best_nodes` asks for the number of
    nodes that is through first instead of as many as can be used (on, as in 002 from there on); with `leeway=smallest`
    the leeway is found by binary search.

    Where 002's simulator does otherwise: `from_first` looks at everything together last, not first; `skip_waits` leaves
    out groups that wait for longer than they run until one does not; `judge_full_width` compares groups, and decides
    whether all is hopeless, on as many nodes as can be used, and picks the best number for the chosen group only.
    """

    name = "zhang"

    def __init__(
        self,
        *,
        everywhere: bool = False,
        best_nodes: bool = True,
        leeway: Search = one_way,
        from_first: bool = False,
        skip_waits: bool = False,
        judge_full_width: bool = False,
    ) -> None:
        self._everywhere = everywhere
        self._best_nodes = best_nodes
        self._leeway = leeway
        self._from_first = from_first
        self._skip_waits = skip_waits
        self._judge_full_width = judge_full_width

    @classmethod
    def as_coded(cls, *, everywhere: bool = False, best_nodes: bool = True, binary_search: bool = False) -> Zhang:
        """What 002's simulator does, with its three enhancements to choose from."""
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
        if self._best_nodes and self._judge_full_width:
            group = soonest(levels, waits, 0, group.last, delay_s)
        return with_leeway(group, waits, delay_s, self._leeway)

    def _choose(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        ends = range(levels.last + 1) if self._from_first else [levels.last, *range(levels.last)]
        best: Group | None = None
        for last in ends:
            group = self._candidate(levels, waits, last, delay_s)
            if best is None and self._skip_waits and group.wait_s > group.run_s:
                continue
            if best is None or _is_better(group, best):
                best = group
            elif not self._everywhere:
                break
        return best or self._candidate(levels, waits, levels.last, delay_s)

    def _candidate(self, levels: Levels, waits: Waits, last: int, delay_s: float) -> Group:
        if self._best_nodes and not self._judge_full_width:
            return soonest(levels, waits, 0, last, delay_s)
        return full_width(levels, waits, 0, last)


def _is_better(group: Group, other: Group) -> bool:
    # Negated, so that of equal ratios more levels win.
    return (_ratio(group), -group.last) < (_ratio(other), -other.last)


def _ratio(group: Group) -> float:
    if group.run_s:
        return group.wait_s / group.run_s
    return math.inf if group.wait_s else 0.0
