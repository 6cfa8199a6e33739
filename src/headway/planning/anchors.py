"""The jobs that hold nodes for all remaining work: one job, or a chain in which each job starts after the last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec import Struct, structs

from headway.grouping.base import Floats, Group, Levels
from headway.model.task import Task
from headway.planning.base import JobStatus, View
from headway.planning.requested_time import requested_s
from headway.waiting.twin import QueueTwin

_WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 192, 256, 384, 512)
IN_CHAIN = 2.5  # a job of a chain makes only part of the run's time, so that it may take longer by so many times more

Correct = Callable[[int, float, float], float]  # nodes, walltime and planned wait -> the expected wait


class Anchor(Struct, frozen=True):
    """Jobs in the order in which they run, and the seconds until the last is expected to end."""

    groups: tuple[Group, ...]
    through_s: float
    sides: tuple[Group, ...] = ()  # jobs beside a single one (`planning/strips.py`)

    def worth(self, *, thrifty: bool) -> float:
        """The time until the end; if `thrifty`, times the node-seconds held. Less is better.

        With the product, an anchor that ends in half the time may hold up to twice the node-seconds.
        """
        node_s = sum(group.nodes * group.run_s for group in self.groups)
        return self.through_s * node_s if thrifty else self.through_s


def parts_of(view: View, tasks: Sequence[Task], live: Sequence[JobStatus]) -> list[View]:
    """The views of the workflows of a pool that are planned by themselves; without shares, the one view of all.

    Workflows that have an anchor in common belong together, and so do all that have none yet.
    """
    shares = list(dict.fromkeys(task.terms.share for task in tasks))
    if not any(shares):
        return [structs.replace(view, live=live, rest=tasks)]
    left = set(shares)
    groups = []
    for job in live:
        mine = tuple(share for share in job.shares if share in left)
        if job.role == "anchor" and mine:
            groups.append(mine)
            left -= set(mine)
    groups = [tuple(share for share in shares if share in left), *groups]
    return [view.of(group, tasks, live, len(shares)) for group in groups if group]


def held_anchor(anchors: Sequence[JobStatus], levels: Levels, now: float, *, has_sides: bool) -> Anchor:
    """The anchor that waits in the queue, with the run time of the tasks that remain by now."""
    groups: list[Group] = []
    for job in anchors:
        nodes, run_s = job.width, job.expected_s or 0.0
        if not job.tasks and not has_sides:
            all_run_s = levels.run_s(0, levels.last)
            run_s = float(all_run_s[min(nodes, len(all_run_s)) - 1])
        groups.append(Group(0, 0, nodes, run_s, wait_s=max(0.0, job.expected_start - now)))
    return Anchor(tuple(groups), groups[-1].wait_s + groups[-1].run_s)


def best_anchor(
    levels: Levels, twin: QueueTwin, correct: Correct, expired: int, nearly: float, *, chains: bool
) -> Anchor:
    """The single job that ends first; with `chains`, a chain of jobs if its worth is better.

    Of jobs that end within the factor `nearly` of the earliest end, the one with the fewest nodes is taken.
    """
    one = _one_job(levels, twin, correct, expired, nearly)
    if not chains:
        return one
    return min(one, _chain(levels, twin, correct, expired, nearly), key=lambda anchor: anchor.worth(thrifty=True))


def _one_job(levels: Levels, twin: QueueTwin, correct: Correct, expired: int, nearly: float) -> Anchor:
    """The number of nodes with which one job for everything is expected to end first."""
    nodes, run_s, asked_s = _shapes(levels, 0, levels.last, expired)
    planned_s = twin.waits_s(nodes, asked_s)
    shapes = zip(nodes, asked_s.tolist(), planned_s.tolist(), strict=True)
    wait_s = np.array([correct(*shape) for shape in shapes])
    best = _first_nearly_best(wait_s + run_s, nearly)
    group = Group(0, levels.last, nodes[best], float(run_s[best]), wait_s=float(wait_s[best]))
    return Anchor((group,), group.wait_s + group.run_s)


def _chain(levels: Levels, twin: QueueTwin, correct: Correct, expired: int, nearly: float) -> Anchor:
    """A job for each level, starting at the expected end of the one before; levels of equal width share a job."""
    groups: list[Group] = []
    through_s = 0.0
    for level in range(len(levels)):
        nodes, run_s, asked_s = _shapes(levels, level, level, expired)
        planned_s = twin.waits_s(nodes, asked_s, not_before_s=through_s)
        shapes = zip(nodes, asked_s.tolist(), planned_s.tolist(), strict=True)
        start_s = np.array([max(through_s, correct(*shape)) for shape in shapes])
        best = _first_nearly_best(start_s + run_s, 1.0 + IN_CHAIN * (nearly - 1.0))
        if groups and groups[-1].nodes == nodes[best]:
            last = groups.pop()
            first, wait_s = last.first, last.wait_s
        else:
            first, wait_s = level, float(start_s[best])
        together_s = float(levels.run_s(first, level)[nodes[best] - 1])
        groups.append(Group(first, level, nodes[best], together_s, wait_s=wait_s))
        through_s = wait_s + together_s
    return Anchor(tuple(groups), through_s)


def _shapes(levels: Levels, first: int, last: int, expired: int) -> tuple[list[int], Floats, Floats]:
    """Candidate numbers of nodes for these levels, with run times and walltimes to request."""
    run_s = levels.run_s(first, last)
    nodes = [width for width in _WIDTHS if width < len(run_s)] + [len(run_s)]
    chosen_s = run_s[np.array(nodes) - 1]
    return nodes, chosen_s, np.array(list(map(partial(requested_s, expired=expired), chosen_s.tolist())))


def _first_nearly_best(through_s: Floats, nearly: float) -> int:
    return int(np.argmax(through_s <= nearly * through_s.min()))
