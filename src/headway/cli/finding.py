"""Runs and tasks, as users name them on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headway.api.nearest import nearest
from headway.journal.base import Journal
from headway.journal.folder import Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import InputError
from headway.model.task import Task


def find_run(directory: Path, run: str | None) -> RunFolder:
    """The run with that number in `directory`, or the newest one."""
    if not directory.is_dir():
        raise InputError("there is no such directory", where=str(directory))
    try:
        return Project(directory).run(run)
    except PermissionError as error:
        raise InputError("this directory cannot be read", where=str(error.filename or directory)) from error


@contextmanager
def reading(folder: RunFolder) -> Iterator[Journal]:
    """The run's journal, only to be read: safe beside the manager that is writing it."""
    journal = SqliteJournal(folder.journal, read_only=True)
    try:
        yield journal
    finally:
        journal.close()


def find_tasks(name: str, tasks: Mapping[str, Task], run: str) -> list[Task]:
    """The task of that name, or all tasks of the category of that name."""
    if name in tasks:
        return [tasks[name]]
    of_category = [task for task in tasks.values() if task.category == name]
    if of_category:
        return of_category
    categories = dict.fromkeys(task.category for task in tasks.values())
    category = name.partition("[")[0]
    siblings = [task.id for task in tasks.values() if task.category == category]
    advice = nearest(name, siblings or [*tasks, *categories], otherwise="there are")
    raise InputError(f"run {run} has no task {name!r}", todo=advice)
