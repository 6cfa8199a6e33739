"""`bfs`, `bfs-postpone`: shallow tasks first (Witt et al. 2019, section III-A and Table I)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.ordering.failure_handling import FailureHandling, place
from headway.ordering.topology import Depths


class Bfs(Order):
    """Shallow tasks first, so that many become ready soon; of equals, those that have failed most often."""

    name = "bfs"
    failed: ClassVar[FailureHandling] = "persevere"

    def __init__(self) -> None:
        self._depths = Depths()

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        self._depths.add(tasks)

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return self._depths[task.id], place(failures, self.failed), arrival


class BfsPostpone(Bfs):
    """Shallow tasks first; of equals, those that have failed least often."""

    name = "bfs-postpone"
    failed = "postpone"
