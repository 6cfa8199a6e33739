"""How long tasks take together on one node after the other: the estimate behind every grouping."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headway.kernels.list_schedule import list_makespans
from headway.model.task import Task


def makespans(tasks: Sequence[Task], estimate: Callable[[Task], float], nodes: Sequence[int]) -> list[float]:
    """How long the tasks take on each of these numbers of nodes, a task a node, earlier ones first: list scheduling."""
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
    spans = np.zeros(len(nodes))
    list_makespans(
        np.array([estimate(task) for task in tasks], np.float64),
        first_child,
        np.array([child for below in children for child in below], np.int64),
        parents,
        np.array(nodes, np.int64),
        np.empty((2, len(tasks))),
        np.empty((3, len(tasks)), np.int64),
        spans,
    )
    found: list[float] = spans.tolist()
    return found
