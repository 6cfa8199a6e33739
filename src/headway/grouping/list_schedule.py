"""The makespan of tasks on a number of slots: the estimate behind every grouping."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headway.kernels.list_schedule import list_makespans
from headway.model.task import Task


def makespans(
    tasks: Sequence[Task], estimate: Callable[[Task], float], slots: Sequence[int], places_of: Callable[[Task], int]
) -> list[float]:
    """The makespan of a list schedule with each of these numbers of slots; earlier tasks in the list go first."""
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
    lengths = np.zeros(len(slots))
    list_makespans.expect(10 * len(tasks) * len(slots))
    list_makespans(
        np.array([estimate(task) for task in tasks], np.float64),
        np.array([places_of(task) for task in tasks], np.int64),
        first_child,
        np.array([child for below in children for child in below], np.int64),
        parents,
        np.array(slots, np.int64),
        np.empty((2, len(tasks))),
        np.empty((3, len(tasks)), np.int64),
        lengths,
    )
    found: list[float] = lengths.tolist()
    return found


def places(task: Task, tasks_per_node: int) -> int:
    """The number of task slots that a task takes: one, or all slots of every node that it spans."""
    return task.nodes * tasks_per_node if task.nodes > 1 else 1
