"""`fifo`: tasks in the order in which they become ready (Witt et al. 2019, section III-A)."""

from __future__ import annotations

from typing import Any

from headway.model.task import Task
from headway.ordering.base import Order


class Fifo(Order):
    """First in, first out: a task that failed goes behind those that became ready meanwhile."""

    name = "fifo"

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return (arrival,)
