"""`rank`, `rank-postpone`: the longest path to an exit first (Witt et al. 2019, section III-A and Table I: TR)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.ordering.failure_handling import FailureHandling, place
from headway.ordering.topology import Ranks


class Rank(Order):
    """Tasks with the longest path to an exit, in tasks, first; of equals, those that have failed most often."""

    name = "rank"
    failed: ClassVar[FailureHandling] = "persevere"

    def __init__(self) -> None:
        self._ranks = Ranks()

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        self._ranks.add(tasks, workflow)

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return -self._ranks[task.id], place(failures, self.failed), arrival


class RankPostpone(Rank):
    """Tasks with the longest path to an exit first; of equals, those that have failed least often."""

    name = "rank-postpone"
    failed = "postpone"
