"""`logs`: what a task wrote to its standard output and standard error."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from headway.api.answers import Answer
from headway.api.finding import find_run, find_run_of, find_tasks, reading
from headway.api.task_list import TaskList, list_tasks
from headway.journal.folder import RunFolder
from headway.journal.logs import RESULT, STREAMS, open_log
from headway.model.errors import InputError
from headway.model.records import Launch, Reuse

__all__ = ["STREAMS", "TaskLogs", "logs"]

_LOOK_EVERY_S = 0.2
_BLOCK_BYTES = 1 << 16


class TaskLogs(Answer, frozen=True):
    """The logs of one attempt, which lie in `directory` until the run has ended.

    `run` is the run that executed the task: an earlier one than `asked_run` if its result was reused.
    """

    unsaid = ("asked_run", "folder")

    run: str
    asked_run: str
    task: str
    attempt: int
    attempts: list[int]
    directory: Path
    folder: RunFolder

    def _open(self, name: str) -> BinaryIO | None:
        return open_log(self.folder, self.task, self.attempt, name)

    def size_bytes(self, stream: str) -> int:
        """Return how much was written to `stdout` or `stderr`; an empty log may have been removed."""
        with self._open(stream) or BytesIO() as log:
            return log.seek(0, os.SEEK_END)

    def text(self, stream: str) -> str:
        """Return all that was written to `stdout` or `stderr`."""
        return b"".join(self.blocks(stream)).decode(errors="replace")

    def blocks(self, stream: str) -> Iterator[bytes]:
        """Read a log block by block: it may be larger than memory."""
        with self._open(stream) or BytesIO() as log:
            while block := log.read(_BLOCK_BYTES):
                yield block

    def follow(self, streams: Sequence[str] = STREAMS) -> Iterator[tuple[str, bytes]]:
        """Yield a stream and what was written to it, from the start, until the attempt has ended."""
        logs: dict[str, BinaryIO] = {}
        while True:
            over = self.size_bytes(RESULT) > 0
            for name in streams:
                if name not in logs and (log := self._open(name)):
                    logs[name] = log
                block = logs[name].read() if name in logs else b""
                if block:
                    yield name, block
            if over:
                return
            time.sleep(_LOOK_EVERY_S)

    def document(self) -> dict[str, Any]:
        """Return what `headway logs --json` prints."""
        return Answer.document(self) | {name: self.text(name) for name in STREAMS}


def logs(
    task: str,
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    attempt: int | None = None,
) -> TaskLogs | TaskList:
    """Return the logs of a task's attempt (by default the newest); a category or pattern lists its tasks."""
    asked = find_run_of(task, Path(directory), run)
    with reading(asked) as journal:
        found = find_tasks(task, journal, asked.run)
        if len(found) > 1:
            return list_tasks(asked, journal, task, [each.id for each in found])
    name = found[0].id
    folder = _where_it_ran(Path(directory), asked, name)
    attempts = _attempts(folder, name)
    if not attempts:
        raise InputError(f"task {name!r} has not run in run {folder.run}", todo="`headway why` says what it waits for")
    number = attempt or attempts[-1]
    if number not in attempts:
        todo = f"it has {', '.join(map(str, attempts))}"
        raise InputError(f"task {name!r} has no attempt {number} in run {folder.run}", todo=todo)
    return TaskLogs(folder.run, asked.run, name, number, attempts, folder.attempt(name, number), folder)


def _where_it_ran(directory: Path, folder: RunFolder, task: str) -> RunFolder:
    """Return the run that executed the task: this one, or the earlier one whose result was reused."""
    if _attempts(folder, task):
        return folder
    with reading(folder) as journal:
        earlier = [record.run for record in journal.replay(task) if isinstance(record, Reuse)]
    if earlier and not (folder.path.parent / earlier[-1]).exists():
        todo = f"`headway run --force '{task}'` makes a new one"
        raise InputError(f"the log of {task!r} was deleted with run {earlier[-1]}", todo=todo)
    return find_run(directory, earlier[-1]) if earlier else folder


def _attempts(folder: RunFolder, task: str) -> list[int]:
    """Return the numbers of the task's attempts, oldest first."""
    with reading(folder) as journal:
        return [record.attempt for record in journal.replay(task) if isinstance(record, Launch)]
