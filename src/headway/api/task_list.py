"""Several tasks and their states: the answer of `why` and `logs` to a category or a pattern."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from headway.api.answers import Answer
from headway.api.finding import state_in
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.report.run.task_usage import TaskUsage


class TaskState(Struct, frozen=True):
    """A task, its state in words, and how many attempts it had."""

    task: str
    state: str
    attempts: int


class TaskList(Answer, frozen=True):
    """The tasks that `asked` means: a category, or else a pattern, with `category` None."""

    asked: str
    category: str | None
    tasks: list[TaskState]


def list_tasks(folder: RunFolder, journal: SqliteJournal, asked: str, ids: Collection[str]) -> TaskList:
    """Return the tasks with these ids and their states, as far as the journal tells."""
    wanted = set(ids)
    rows = [row for row in TaskUsage.of(journal).rows(state_in(folder, journal)) if row.name in wanted]
    category = asked if any(row.category == asked for row in rows) else None
    return TaskList(asked, category, [TaskState(row.name, row.state, row.figures.attempts) for row in rows])
