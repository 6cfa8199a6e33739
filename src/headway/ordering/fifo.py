"""`fifo`: as the workflow lists them, the user's priorities first."""

from __future__ import annotations

from typing import Any

from headway.model.task import Task
from headway.ordering.base import Order


class Fifo(Order):
    """First in, first out; a higher `priority` goes before a lower one."""

    name = "fifo"

    def task_key(self, task: Task, sequence: int) -> tuple[Any, ...]:
        return (-task.priority, sequence)
