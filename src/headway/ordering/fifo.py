"""`fifo`: in the order in which tasks become ready (paper 004, section III-A)."""

from __future__ import annotations

from typing import Any

from headway.model.task import Task
from headway.ordering.base import Order


class Fifo(Order):
    """First in, first out: a task that failed stands in line again, behind those that became ready meanwhile."""

    name = "fifo"

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        return (arrival,)
