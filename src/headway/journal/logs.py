"""What attempts wrote: a file for each stream while the run goes on, one database for all when it has ended.

Clusters count files, and a file for each task is already many. Large logs stay files.
"""

from __future__ import annotations

import errno
import io
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from headway.journal.folder import RunFolder

STREAMS = ("stdout", "stderr")
RESULT = "result.json"
LARGEST_BYTES = 1_000_000  # of a log in the database
_TOGETHER_BYTES = 16_000_000  # that are held in memory

_CREATE = "CREATE TABLE IF NOT EXISTS logs (folder TEXT, name TEXT, body BLOB, PRIMARY KEY (folder, name))"


def open_log(folder: RunFolder, task: str, attempt: int, name: str) -> BinaryIO | None:
    """Open what an attempt wrote to a stream, or its result; None if there is nothing."""
    path = folder.attempt(task, attempt)
    with suppress(OSError):
        return open_inside(folder.path, (path / name).relative_to(folder.path).parts)
    if not folder.logs.exists() or folder.logs.is_symlink():
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(folder.logs)) as database:
        key = (str(path.relative_to(folder.tasks)), name)
        for (body,) in database.execute("SELECT body FROM logs WHERE folder = ? AND name = ?", key):
            return io.BytesIO(body)
    return None


def open_inside(folder: Path, parts: Sequence[str]) -> BinaryIO:
    """Open a plain file below a folder; a task that puts a symbolic link or a pipe in its place shows nothing."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = below
        # A pipe that nobody writes to would block without O_NONBLOCK.
        log = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    finally:
        os.close(place)
    if not stat.S_ISREG(os.fstat(log).st_mode):
        os.close(log)
        raise FileNotFoundError(errno.ENOENT, "no plain file", parts[-1])
    return open(log, "rb")


def pack_logs(folder: RunFolder, attempts: Iterable[tuple[str, int]]) -> None:
    """Move what attempts wrote into the database of the run; what cannot be moved stays where it is."""
    # After Ctrl-C the rest stays as it is: the run is over.
    stops = suppress(OSError, sqlite3.Error, KeyboardInterrupt)
    with stops, closing(sqlite3.connect(folder.logs, isolation_level=None)) as database:
        folder.logs.chmod(0o600)
        database.execute(_CREATE)
        for rows in _batches(folder, attempts):
            database.execute("BEGIN")
            database.executemany("INSERT OR REPLACE INTO logs VALUES (?, ?, ?)", rows)
            database.execute("COMMIT")
            for place, name, _ in rows:
                os.unlink(f"{folder.tasks}/{place}/{name}")
            for place in dict.fromkeys(place for place, _, _ in rows):
                with suppress(OSError):  # a sandbox, a large log or another attempt is in it
                    os.rmdir(f"{folder.tasks}/{place}")
                    os.rmdir(f"{folder.tasks}/{os.path.dirname(place)}")


def _batches(folder: RunFolder, attempts: Iterable[tuple[str, int]]) -> Iterator[list[tuple[str, str, bytes]]]:
    rows: list[tuple[str, str, bytes]] = []
    held_bytes = 0
    above = f"{folder.tasks}/"
    for task, attempt in attempts:
        path = str(folder.attempt(task, attempt))
        for name in (*STREAMS, RESULT):
            with suppress(FileNotFoundError), open(f"{path}/{name}", "rb") as log:
                body = log.read(LARGEST_BYTES + 1)
                if len(body) <= LARGEST_BYTES:
                    rows.append((path[len(above) :], name, body))
                    held_bytes += len(body)
        if held_bytes > _TOGETHER_BYTES:
            yield rows
            rows, held_bytes = [], 0
    if rows:
        yield rows
