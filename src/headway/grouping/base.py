"""The contract of WHICH TOGETHER: levels that remain, groups of them, and who forms these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.grouping.list_schedule import makespans, places
from headway.model.task import Task

Floats = NDArray[np.float64]
# How long jobs of so many nodes would wait that are expected to run, and are held open, for so many seconds together.
Waits = Callable[[Sequence[int], Floats], Floats]


class Levels:
    """The tasks that remain, level by level: a task stands one level below the lowest of those it waits for.

    Within a group a free node takes the ready task that ends soonest (002 §6.2), so tasks stand in that order.
    """

    def __init__(
        self, tasks: Sequence[Task], estimate: Callable[[Task], float], most_nodes: int, tasks_per_node: int = 1
    ) -> None:
        self._estimate = estimate
        self._most_nodes = most_nodes
        self._tasks_per_node = tasks_per_node
        self._known: dict[tuple[int, int], Floats] = {}
        level: dict[str, int] = {}
        for task in tasks:  # parents first
            level[task.id] = 1 + max((level[parent] for parent in task.parents if parent in level), default=-1)
        self._levels: list[list[Task]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        for task in tasks:
            self._levels[level[task.id]].append(task)
        self._places = [sum(places(task, tasks_per_node) for task in each) for each in self._levels]
        self._widest_task = [max(task.nodes for task in each) for each in self._levels]

    def __len__(self) -> int:
        return len(self._levels)

    @cached_property
    def last(self) -> int:
        """The last level."""
        return len(self._levels) - 1

    def tasks(self, first: int, last: int) -> list[Task]:
        """The tasks of levels `first` to `last`, in the order in which they are preferred."""
        chosen = [task for level in self._levels[first : last + 1] for task in level]
        return sorted(chosen, key=self._estimate)

    def width(self, first: int, last: int) -> int:
        """How many nodes a group of these levels can use: the widest level, or the machine."""
        return min(self._most_nodes, -(-max(self._places[first : last + 1]) // self._tasks_per_node))

    def least_nodes(self, first: int, last: int) -> int:
        """As many as one of their tasks spans."""
        return max(self._widest_task[first : last + 1])

    def run_s(self, first: int, last: int) -> Floats:
        """How long a group of these levels takes on 1, 2, … nodes, up to its width."""
        if (first, last) not in self._known:
            tasks, widths = self.tasks(first, last), range(1, self.width(first, last) + 1)
            self._known[first, last] = np.array(makespans(tasks, self._estimate, widths, self._tasks_per_node))
        return self._known[first, last]


class Group(Struct, frozen=True):
    """Levels to be run as one job: on how many nodes, how long, with how much leeway in case it starts too early."""

    first: int
    last: int
    nodes: int
    run_s: float  # expected
    leeway_s: float = 0.0
    wait_s: float = 0.0  # expected


class Grouper(ABC):
    """Says what the next job is for. It keeps nothing in mind."""

    name: str

    @abstractmethod
    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group | None:
        """The next job, which cannot do anything before `delay_s` from now. None: a job for each task that remains."""


def soonest(levels: Levels, waits: Waits, first: int, last: int, delay_s: float = 0.0, *, more: bool = False) -> Group:
    """Of all numbers of nodes, the one with which these levels are through first (002, Algorithm 3).

    Of equals the one with the fewest nodes, or with `more` the most.
    """
    run_s = levels.run_s(first, last)
    wait_s = waits(range(1, len(run_s) + 1), run_s)
    through_s = np.maximum(delay_s, wait_s) + run_s
    best = len(through_s) - 1 - int(np.argmin(through_s[::-1])) if more else int(np.argmin(through_s))
    return Group(first, last, best + 1, float(run_s[best]), wait_s=float(wait_s[best]))
