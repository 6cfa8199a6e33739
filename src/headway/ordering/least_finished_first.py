"""`least-finished-first`: categories with the fewest successes first (Witt et al. 2019, section III-A: LFF)."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.ordering.base import Order
from headway.ordering.failure_handling import FailureHandling, place


class LeastFinishedFirst(Order):
    """Tasks of the category with the fewest successes first; of equals, those that have failed most often.

    Successes of earlier runs count, too.
    """

    name = "least-finished-first"
    failed: ClassVar[FailureHandling] = "persevere"

    def __init__(self) -> None:
        self._finished: Counter[str] = Counter()

    def category_key(self, category: str) -> tuple[Any, ...]:
        return (self._finished[category],)

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return place(failures, self.failed), arrival

    def observe(self, task: Task, outcome: Outcome) -> None:
        self._finished[task.category] += outcome.ending is Ending.SUCCESS


class LeastFinishedFirstPostpone(LeastFinishedFirst):
    """Tasks of the category with the fewest successes first; of equals, those that have failed least often."""

    name = "least-finished-first-postpone"
    failed = "postpone"
