"""The contract of WHICH FIRST: an order over ready tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from headway.model.outcome import Outcome
from headway.model.task import Task


class Order(ABC):
    """Gives each ready task a key; the smallest goes first.

    The key has two parts: one of the task's category, which may change as tasks end, and one of the task, which may
    not. So a finished task re-sorts the categories, of which there are few, and not 100,000 tasks.
    """

    name: str

    def category_key(self, category: str) -> tuple[Any, ...]:
        """Compared first; may change after `observe`."""
        return ()

    @abstractmethod
    def task_key(self, task: Task, sequence: int) -> tuple[Any, ...]:
        """Compared second; `sequence` counts tasks as they were added and makes every key unique."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt."""
