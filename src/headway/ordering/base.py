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

    The key has two parts: one of the task's category, which may change as tasks end, and one of the task, which is
    asked for when the task becomes ready, and again after each failed attempt. So a finished task re-sorts the
    categories, of which there are few, and not 100,000 tasks.

    All that an order knows comes to it through `added` and `observe`, from the records of a run: a resumed run, in
    which they are replayed, goes on in the same order.
    """

    name: str

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        """Tasks that have just been added to `workflow`, their parents known. Called before any key of theirs is."""

    def category_key(self, category: str) -> tuple[Any, ...]:
        """Compared first; may change after `observe`."""
        return ()

    @abstractmethod
    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        """Compared second; `arrival` counts tasks as they become ready, again after a failure, and breaks ties."""

    def at_stake(self, task: Task) -> float:
        """What a failed attempt at `task` loses besides what it holds, in whole nodes: others wait longer.

        A sizer that weighs what failing costs gives more where more is at stake (004 section VII).
        """
        return 0.0

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt, of this run or of an earlier one."""
