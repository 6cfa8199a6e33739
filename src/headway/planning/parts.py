"""An anchor in parts: jobs for consecutive levels, each of which is held back until the one before it has ended.

A batch system like Slurm gives a job that depends on another's end no nodes before that, but the job keeps the rank in
the queue that it had when it was submitted (`asa` lives on that: Souza et al. 2020, section 3). So a narrow stage need
not hold the nodes of the wide one after it: where the queue is busy and its jobs are short, a job for the wide stage
has them soon after the narrow one has ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from headway.grouping.base import Group, Levels
from headway.planning.anchors import Anchor, Correct
from headway.planning.requested_time import requested_s
from headway.waiting.twin import QueueTwin

# Found by simulation (docs/planning.md). With more tasks the fillers are wide and do much of the work; a much longer
# queue is not foreseen well enough to tie the parts of a run to each other.
MOST_TASKS = 16
MOST_LEVELS = 6  # each way to cut them is tried
LONGEST_WAIT = 10.0  # times the workflow's shortest run
LATER = 2.2  # parts may end later by so many times what the preference allows a single job,
CHEAPER = 0.9  # if they cost no more than this share of it
REFILL = 0.1  # of the time that the queue's plan keeps a node busy on average: how fast nodes come free
NOTICED_S = 30.0  # until a batch system has noticed that a job has ended, and the next one is at work
_FOR_EVER_S = 1e9


def in_parts(
    one: Anchor, levels: Levels, twin: QueueTwin, correct: Correct, expired: int, nearly: float, *, most: int
) -> Anchor:
    """The cheapest way to cut an anchor of one job into at most `most` parts, if that is clearly cheaper and not late.

    An anchor that can start at once is never cut: nodes that are there are worth more than a rank.
    """
    wait_s = one.groups[0].wait_s
    if not 0.0 < wait_s <= LONGEST_WAIT * levels.shortest_s or not 2 <= len(levels) <= MOST_LEVELS:
        return one
    if len(levels.tasks(0, levels.last)) > MOST_TASKS:
        return one
    foresight = _Foresight(levels, twin, correct, expired)
    widths = range(levels.least_nodes(0, levels.last), levels.width(0, levels.last) + 1)
    ways = [foresight.anchor(cut, width) for cut in _cuts(len(levels), most) for width in widths]
    latest_s = (1.0 + LATER * (nearly - 1.0)) * min(way.through_s for way in [one, *ways])
    in_time = [way for way in ways if way.through_s <= latest_s]
    best = min(in_time, key=lambda way: (unit_s(way, levels), way.through_s), default=one)
    return best if unit_s(best, levels) <= CHEAPER * unit_s(one, levels) else one


def unit_s(anchor: Anchor, levels: Levels) -> float:
    """The unit-seconds that the jobs of an anchor hold, each giving back what no later level of its own needs."""
    total = 0.0
    for group in anchor.groups:
        held = 0
        for level in range(group.last, group.first - 1, -1):
            run_s = levels.run_s(level, level)
            used = min(group.nodes, len(run_s))
            held = max(held, used)
            total += held * float(run_s[used - 1])
    return total


def _cuts(levels: int, most: int) -> Iterator[list[tuple[int, int]]]:
    """Each way to cut so many levels into two to `most` parts: the first and last level of each part."""
    for count in range(1, min(levels, most)):
        for inner in combinations(range(1, levels), count):
            yield [(first, after - 1) for first, after in pairwise([0, *inner, levels])]


class _Foresight:
    """When parts are expected to start and end."""

    def __init__(self, levels: Levels, twin: QueueTwin, correct: Correct, expired: int) -> None:
        self._levels, self._twin, self._correct, self._expired = levels, twin, correct, expired
        free = np.array(twin.read.free)
        self._machine = float(free.max())
        busy_s = float(((self._machine - free[:-1]) * np.diff(twin.read.times)).sum())
        self._refill_s = REFILL * busy_s / max(1.0, self._machine)
        self._known: dict[tuple[int, float, bool], float] = {}

    def anchor(self, cut: Sequence[tuple[int, int]], width: int) -> Anchor:
        """These parts on at most so many units each."""
        groups: list[Group] = []
        end_s, held = 0.0, 0
        for first, last in cut:
            run_s = self._levels.run_s(first, last)
            units = min(width, len(run_s))
            part_s = float(run_s[units - 1])
            start_s = self._wait_s(units, part_s, ranked=bool(groups))
            if groups:
                start_s = max(start_s, end_s + NOTICED_S + self._more_s(units - held))
            groups.append(Group(first, last, units, part_s, wait_s=start_s))
            end_s, held = start_s + part_s, min(units, self._levels.width(last, last))
        return Anchor(tuple(groups), end_s)

    def _wait_s(self, units: int, run_s: float, *, ranked: bool) -> float:
        """The wait of a part; a `ranked` one, which is not the first, finds no gap but waits for all that are ahead."""
        key = (units, run_s, ranked)
        if key not in self._known:
            asked_s = requested_s(run_s, self._expired)
            planned_s = self._twin.waits_s([units], np.array([_FOR_EVER_S if ranked else asked_s]))
            self._known[key] = self._correct(units, asked_s, float(planned_s[0]))
        return self._known[key]

    def _more_s(self, units: int) -> float:
        """How long the first in the queue waits for so many units more, if each of the machine's ends at random."""
        return -self._refill_s * math.log(1.0 - min(max(0, units) / self._machine, 0.999))
