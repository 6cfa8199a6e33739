"""An anchor in strips: a narrow job for all levels, and side jobs of one node for what wide levels need beyond it.

The side jobs depend on the narrow one, so that they hold a rank in the queue and no nodes. Each is admitted so long
before its levels are expected to be ready as it will most likely wait (`due`). Side jobs of one node start one by one
as nodes come free, while a job of several nodes waits until all are free together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from headway.grouping.base import Group, Levels
from headway.model.records import Admit, Decision, Release, WakeAt, Why
from headway.model.task import Task
from headway.planning.anchors import Anchor, Correct
from headway.planning.base import Estimate, JobStatus, View
from headway.planning.forecast import earliest
from headway.planning.requested_time import requested_s
from headway.planning.run_times import STATED
from headway.waiting.twin import QueueTwin

# Found by simulation (docs/planning.md). With more tasks than this the fillers are wide and do much of the work.
MOST_TASKS = 16
REFILL = 0.2  # of the time that the queue's plan keeps a node busy on average: how fast nodes come free
EARLY = 0.3  # of its own time is how long a side job may be there before its tasks
NOTICED_S = 30.0  # until a job that has started is at work
SPARE = 2.0  # times its expected time is what the narrow job asks for: it may have to wait for side jobs
_A_MOMENT_S = 1.0  # an alarm may come so much too early


def in_strips(one: Anchor, levels: Levels, twin: QueueTwin, correct: Correct, expired: int, *, most: float) -> Anchor:
    """At most `most` strips instead of an anchor of one job, for a small workflow that is narrow and wide by turns.

    An anchor that can start at once stays as it is: nodes that are there are worth more than a rank.
    """
    if one.groups[0].wait_s <= 0.0 or len(levels.tasks(0, levels.last)) > MOST_TASKS:
        return one
    strips = _strips(levels, twin, correct, expired)
    return strips if 0 < len(strips.sides) < most else one


def _strips(levels: Levels, twin: QueueTwin, correct: Correct, expired: int) -> Anchor:
    """The narrow job has as many nodes as each level can use; it waits for the side jobs that come late.

    Narrow levels at the beginning have a side job, too: it is short, and may find a gap that is too short for the rest.
    """
    widths = [levels.width(level, level) for level in range(len(levels))]
    narrow = max(min(widths), levels.least_nodes(0, levels.last))
    wide = list(_wide(widths, narrow))
    sides: list[Group] = []
    late_s = 0.0
    if wide and (begins := wide[0][0]):
        sides.append(Group(0, begins - 1, narrow, float(levels.run_s(0, begins - 1)[-1])))
    for first, last, units in wide:
        run_s = float(levels.run_s(first, last)[-1])
        lead_s = NOTICED_S + min(_until_free_s(units, twin), EARLY * run_s)
        late_s += lead_s / 2
        before_s = float(levels.run_s(first - 1, first - 1)[-1]) if first else 0.0
        leeway_s = lead_s + (1.0 - STATED) * before_s  # if that takes longer than it typically does
        sides += [Group(first, last, 1, run_s, leeway_s, wait_s=lead_s)] * units
    run_s = levels.shortest_s + late_s
    asked_s = SPARE * requested_s(run_s, expired)
    planned_s = float(twin.waits_s([narrow], np.array([asked_s]))[0])
    spine = Group(0, levels.last, narrow, run_s, wait_s=correct(narrow, asked_s, planned_s))
    return Anchor((spine,), spine.wait_s + run_s, tuple(sides))


def _wide(widths: Sequence[int], narrow: int) -> Iterator[tuple[int, int, int]]:
    """Consecutive levels that can use more than the narrow job has: the first, the last, and how many nodes more.

    >>> list(_wide([1, 4, 2, 4, 1], 1))
    [(1, 3, 1), (1, 1, 2), (3, 3, 2)]
    """
    first = 0
    while first < len(widths):
        last = first
        while last < len(widths) and widths[last] > narrow:
            last += 1
        if last == first:
            first += 1
            continue
        common = min(widths[first:last])
        yield first, last - 1, common - narrow
        yield from ((first + a, first + b, more) for a, b, more in _wide(widths[first:last], common))
        first = last


def _until_free_s(units: int, twin: QueueTwin) -> float:
    """How long the first in the queue waits for so many nodes, if each of the machine's comes free at random."""
    free, machine = np.array(twin.read.free), max(1.0, *twin.read.free)
    busy_s = float(((free.max() - free[:-1]) * np.diff(twin.read.times)).sum()) / machine
    return -REFILL * busy_s * math.log(1.0 - min(units / machine, 0.999))


# --- when the side jobs are there ---


def due(view: View, planner: str, estimate: Estimate, now: float) -> list[Decision]:
    """Admit the side jobs whose tasks will soon be ready, and give back those for which no task is left."""
    sides = [job for job in view.live if job.role == "side" and not view.is_busy(job.tag)]
    if not sides:
        return []
    tasks = _with_ancestors(view, sides)
    waiting = {each.task.id: each.begin_s for each in earliest(view, tasks, estimate, overdue=0.0)}
    stuck = _stuck(view, tasks)
    decisions, alarms = list[Decision](), list[float]()
    served: Counter[tuple[str, ...]] = Counter()
    for job in sorted(sides, key=lambda job: job.started_at is None):
        needed_s = [waiting[task_id] for task_id in job.meant_for if task_id in waiting]
        served[job.meant_for] += 1
        if served[job.meant_for] > len(needed_s):
            decisions.append(Release(now, job.tag, Why(planner, "for-nobody")))
        elif job.after is not None and job.started_at is None and job.admitted_at is None:
            early_s = min(needed_s) - (job.expected_wait_s or 0.0)
            is_foreseen = not stuck.issuperset(job.meant_for)
            if early_s < _A_MOMENT_S and (is_foreseen or min(needed_s) <= 0.0):
                why = Why(planner, "soon-needed", {"needed_s": min(needed_s)}, "its tasks will soon be ready")
                decisions.append(Admit(now, job.tag, why))
            elif is_foreseen:
                alarms.append(now + early_s)
    return decisions or [WakeAt(now, at, Why(planner, "side-jobs")) for at in sorted(alarms)[:1]]


def _with_ancestors(view: View, sides: Sequence[JobStatus]) -> list[Task]:
    """The tasks of side jobs and those that they wait for, parents first, as far as they are not over."""
    found: dict[str, Task] = {}

    def visit(task_ids: Iterable[str]) -> None:
        for task_id in task_ids:
            task = view.workflow.tasks.get(task_id)  # None: it was over long ago, and is forgotten
            if task is not None and task_id not in found and not view.is_over(task_id):
                visit(task.parents)
                found[task_id] = task

    visit(task_id for job in sides for task_id in job.meant_for)
    return list(found.values())


def _stuck(view: View, tasks: Sequence[Task]) -> set[str]:
    """The tasks of which nobody knows when they will be ready: a task that they wait for has no node yet."""
    left, stuck = {task.id for task in tasks}, set[str]()
    for task in tasks:  # parents first
        above = left.intersection(task.parents)
        if not view.is_running(task.id) and (not above or not stuck.isdisjoint(above)):
            stuck.add(task.id)
    return stuck
