"""Names the tasks that take most of the disk when a run ends because the disk is full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.engine.state import Phase, TaskState
from headway.journal.folder import RunFolder
from headway.model.errors import DiskFullError, is_disk_full
from headway.workers.full_disk import largest_tasks


@contextmanager
def naming_tasks(states: Iterable[TaskState], folder: RunFolder) -> Iterator[None]:
    """Add to an error about a full disk which unfinished tasks take most of it."""
    try:
        yield
    except (DiskFullError, OSError) as error:
        if isinstance(error, OSError) and not is_disk_full(error):
            raise
        folders = {
            state.task.id: Path(state.task.work.folder) if state.task.work else folder.attempt(state.task.id, 1).parent
            for state in states
            if state.attempts and state.phase is not Phase.SUCCEEDED
        }
        largest = largest_tasks(folders)
        if not largest:
            raise
        who = f"of the unfinished tasks, these take most of the disk: {largest}"
        if isinstance(error, DiskFullError):
            raise DiskFullError(f"{error.what}; {who}", where=error.where, todo=error.todo) from error
        where = str(error.filename) if error.filename else str(folder.directory)
        todo = "make room, then `headway resume`"
        raise DiskFullError(f"{error.strerror}; {who}", where=where, todo=todo) from error
