"""The contract of WHICH FIRST: an order over ready tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from headway.model.outcome import Outcome
from headway.model.task import Task
from headway.model.workflow import Workflow


class Order(ABC):
    """Gives each ready task a key; the smallest goes first. The user's priorities come before any order.

    The key has two parts: the category's, which may change as tasks end, and the task's, which the engine asks for when
    the task becomes ready and again after each failed attempt. So a finished task re-sorts the categories, of which
    there are few, and not 100,000 tasks.

    An order learns everything through `added` and `observe`, from the records of a run. A resumed run replays them and
    goes on in the same order.
    """

    name: str

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        """Take note of tasks that were added to `workflow`. Called before any of their keys is asked for."""

    def category_key(self, category: str) -> tuple[Any, ...]:
        """Return the first part of the key, which may change after `observe`."""
        return ()

    @abstractmethod
    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        """Return the second part of the key; `arrival` counts tasks as they become ready, and again after a failure."""

    def at_stake(self, task: Task) -> float:
        """Return what a failed attempt at `task` costs besides what it holds, in whole nodes: other tasks wait longer.

        A sizer that weighs the cost of failing gives more where more is at stake (Witt et al. 2019, section VII).
        """
        return 0.0

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt, of this run or of an earlier one."""
