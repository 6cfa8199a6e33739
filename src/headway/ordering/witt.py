"""The orders of Witt et al. 2019, section III-A and Table I; `-postpone` puts failed tasks last among equals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.ordering.topology import Depths, Ranks

# Where failed tasks go among equals (section III-C): the sign of their failures in the key.
PERSEVERE, POSTPONE = -1, 1


class Fifo(Order):
    """First in, first out: a task that failed goes behind those that became ready meanwhile."""

    name = "fifo"

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return (arrival,)


class Bfs(Order):
    """Shallow tasks first, so that many become ready soon; of equals, those that have failed most often."""

    name = "bfs"
    failed: ClassVar[int] = PERSEVERE

    def __init__(self) -> None:
        self._depths = Depths()

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        self._depths.add(tasks)

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return self._depths[task.id], self.failed * failures, arrival


class BfsPostpone(Bfs):
    """Shallow tasks first; of equals, those that have failed least often."""

    name = "bfs-postpone"
    failed = POSTPONE


class Dfs(Bfs):
    """Deep tasks first, so that every category is met early; of equals, those that have failed most often."""

    name = "dfs"

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return -self._depths[task.id], self.failed * failures, arrival


class DfsPostpone(Dfs):
    """Deep tasks first; of equals, those that have failed least often."""

    name = "dfs-postpone"
    failed = POSTPONE


class Rank(Order):
    """Tasks with the longest path to an exit, in tasks, first; of equals, those that have failed most often."""

    name = "rank"
    failed: ClassVar[int] = PERSEVERE

    def __init__(self) -> None:
        self._ranks = Ranks()

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        self._ranks.add(tasks, workflow)

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return -self._ranks[task.id], self.failed * failures, arrival


class RankPostpone(Rank):
    """Tasks with the longest path to an exit first; of equals, those that have failed least often."""

    name = "rank-postpone"
    failed = POSTPONE


class LeastFinishedFirst(Order):
    """Tasks of the category with the fewest successes first; of equals, those that have failed most often.

    Successes of earlier runs count, too.
    """

    name = "least-finished-first"
    failed: ClassVar[int] = PERSEVERE

    def __init__(self) -> None:
        self._finished: Counter[str] = Counter()

    def category_key(self, category: str) -> tuple[Any, ...]:
        return (self._finished[category],)

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return self.failed * failures, arrival

    def observe(self, task: Task, outcome: Outcome) -> None:
        self._finished[task.category] += outcome.ending is Ending.SUCCESS


class LeastFinishedFirstPostpone(LeastFinishedFirst):
    """Tasks of the category with the fewest successes first; of equals, those that have failed least often."""

    name = "least-finished-first-postpone"
    failed = POSTPONE
