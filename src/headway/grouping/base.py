"""The contract of WHICH TOGETHER: the remaining levels, groups of them, and groupers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.grouping.list_schedule import makespans, places
from headway.model.task import Task

Floats = NDArray[np.float64]
# Predicted queue wait in seconds for each pair of (nodes, seconds of run time and leeway).
Waits = Callable[[Sequence[int], Floats], Floats]


class Levels:
    """The remaining tasks by level: a task is one level below the deepest of the tasks that it waits for.

    `estimate` gives run times. Within a group a free node takes the ready task that ends first (GLUME thesis, §6.2),
    so that tasks are sorted by run time.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        estimate: Callable[[Task], float],
        most_nodes: int,
        tasks_per_node: int = 1,
        places_of: Callable[[Task], int] | None = None,
    ) -> None:
        self._estimate = estimate
        self._most_nodes = most_nodes
        self._tasks_per_node = tasks_per_node
        self._places_of = places_of or partial(places, tasks_per_node=tasks_per_node)
        self._known: dict[tuple[int, int], Floats] = {}
        level: dict[str, int] = {}
        for task in tasks:  # parents first
            level[task.id] = 1 + max((level[parent] for parent in task.parents if parent in level), default=-1)
        self._levels: list[list[Task]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        for task in tasks:
            self._levels[level[task.id]].append(task)
        self._places = [sum(map(self._places_of, each)) for each in self._levels]
        self._widest_task = [max(map(self._least_nodes, each)) for each in self._levels]

    def _least_nodes(self, task: Task) -> int:
        return -(-self._places_of(task) // self._tasks_per_node)

    def __len__(self) -> int:
        return len(self._levels)

    @cached_property
    def last(self) -> int:
        """The index of the last level."""
        return len(self._levels) - 1

    def tasks(self, first: int, last: int) -> list[Task]:
        """The tasks of levels `first` to `last`, shortest first."""
        chosen = [task for level in self._levels[first : last + 1] for task in level]
        return sorted(chosen, key=self._estimate)

    def width(self, first: int, last: int) -> int:
        """The most nodes that these levels can use: those of the widest level, or the limit."""
        return min(self._most_nodes, -(-max(self._places[first : last + 1]) // self._tasks_per_node))

    def least_nodes(self, first: int, last: int) -> int:
        """The fewest nodes on which these levels can run: as many as their widest task spans."""
        return max(self._widest_task[first : last + 1])

    @property
    def shortest_s(self) -> float:
        """The run time of all levels on as many nodes as they can use."""
        return max(1.0, float(self.run_s(0, self.last)[-1]))

    def run_s(self, first: int, last: int) -> Floats:
        """The run time of these levels on 1, 2, … nodes, up to their width."""
        if (first, last) not in self._known:
            tasks, widths = self.tasks(first, last), range(1, self.width(first, last) + 1)
            slots = [width * self._tasks_per_node for width in widths]
            self._known[first, last] = np.array(makespans(tasks, self._estimate, slots, self._places_of))
        return self._known[first, last]


class Group(Struct, frozen=True):
    """Levels to run as one job. `leeway_s` is extra walltime in case the job starts too early."""

    first: int
    last: int
    nodes: int
    run_s: float  # expected
    leeway_s: float = 0.0
    wait_s: float = 0.0  # expected


class Grouper(ABC):
    """Chooses the levels of the next job. A grouper has no state."""

    name: str

    @abstractmethod
    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group | None:
        """The next job, whose tasks cannot start before `delay_s` from now. None: one job per remaining task."""


def soonest(levels: Levels, waits: Waits, first: int, last: int, delay_s: float = 0.0, *, more: bool = False) -> Group:
    """These levels on the number of nodes with which they end first, wait included (GLUME thesis, Algorithm 3).

    Of equal ends the fewest nodes win, or with `more` the most.
    """
    run_s = levels.run_s(first, last)
    wait_s = waits(range(1, len(run_s) + 1), run_s)
    through_s = np.maximum(delay_s, wait_s) + run_s
    best = len(through_s) - 1 - int(np.argmin(through_s[::-1])) if more else int(np.argmin(through_s))
    return Group(first, last, best + 1, float(run_s[best]), wait_s=float(wait_s[best]))
