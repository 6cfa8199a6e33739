"""List schedules of tasks on a number of slots: the estimate behind every grouping and every plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from headway.kernels.list_schedule import list_makespans
from headway.model.task import Task

Floats = NDArray[np.float64]


def makespans(
    tasks: Sequence[Task], estimate: Callable[[Task], float], slots: Sequence[int], places_of: Callable[[Task], int]
) -> list[float]:
    """The makespan of a list schedule with each of these numbers of slots; earlier tasks in the list go first."""
    run_s = np.array([estimate(task) for task in tasks], np.float64)
    found: list[float] = _schedules(tasks, run_s, slots, places_of)[0].tolist()
    return found


def slots_in_use(
    tasks: Sequence[Task], run_s: Floats, slots: int, places_of: Callable[[Task], int]
) -> tuple[Floats, Floats]:
    """When the number of slots in use changes in a list schedule, and the number from then on."""
    _, ends = _schedules(tasks, run_s, [slots], places_of)
    wanted = np.array(list(map(places_of, tasks)), np.float64)
    spans = np.minimum(wanted, slots)
    times, where = np.unique(np.concatenate([ends - run_s * (wanted / spans), ends]), return_inverse=True)
    used = np.cumsum(np.bincount(where, np.concatenate([spans, -spans])))
    return times, np.minimum(used, slots)  # a task may seem to begin before its parent ends, by a rounding error


def _schedules(
    tasks: Sequence[Task], run_s: Floats, slots: Sequence[int], places_of: Callable[[Task], int]
) -> tuple[Floats, Floats]:
    """The makespan with each number of slots, and when each task ends with the last of them."""
    number = {task.id: index for index, task in enumerate(tasks)}
    children: list[list[int]] = [[] for _ in tasks]
    parents = np.zeros(len(tasks), np.int64)
    for index, task in enumerate(tasks):
        for parent in task.parents:
            if parent in number:
                children[number[parent]].append(index)
                parents[index] += 1
    first_child = np.zeros(len(tasks) + 1, np.int64)
    first_child[1:] = np.cumsum([len(below) for below in children])
    lengths, ends = np.zeros(len(slots)), np.zeros(len(tasks))
    list_makespans.expect(10 * len(tasks) * len(slots))
    list_makespans(
        run_s,
        np.array([places_of(task) for task in tasks], np.int64),
        first_child,
        np.array([child for below in children for child in below], np.int64),
        parents,
        np.array(slots, np.int64),
        np.empty((2, len(tasks))),
        np.empty((3, len(tasks)), np.int64),
        lengths,
        ends,
    )
    return lengths, ends


def places(task: Task, tasks_per_node: int) -> int:
    """The number of task slots that a task takes: one, or all slots of every node that it spans."""
    return task.nodes * tasks_per_node if task.nodes > 1 else 1
