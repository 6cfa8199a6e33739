"""The tasks of a category and their states: the answer of `why` and `logs` to a name that means several tasks."""

from __future__ import annotations

from msgspec import Struct

from headway.api.answers import Answer
from headway.journal.base import Journal
from headway.report.run.task_usage import TaskUsage


class TaskState(Struct, frozen=True):
    """A task, its state in words, and how many attempts it had."""

    task: str
    state: str
    attempts: int


class TaskList(Answer, frozen=True):
    """The tasks of a category."""

    category: str
    tasks: list[TaskState]


def list_tasks(journal: Journal, category: str) -> TaskList:
    """Return the category's tasks and their states, as far as the journal tells."""
    rows = [row for row in TaskUsage.of(journal).rows() if row.category == category]
    return TaskList(category, [TaskState(row.name, row.state, row.figures.attempts) for row in rows])
