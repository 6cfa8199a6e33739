"""`SqliteHistory`: a history in one SQLite file, to which several runs may add at the same time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headway.file_systems import journal_mode
from headway.history.base import HistoryBusyError, NoHistoryError
from headway.history.rows import Row, Values
from headway.history.sql import History, Verb
from headway.model.errors import SiteError

PATIENCE_S = 2.0  # for another writer; meanwhile the run does nothing else


class SqliteHistory(History):
    """SQLite itself makes writers take turns; its `user_version` holds the format.

    Threads may share the connection if they use it one at a time.
    """

    key = "INTEGER PRIMARY KEY"

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(str(path))
        self._path = path
        try:
            if read_only and not path.exists():
                raise NoHistoryError(self._where)
            if not read_only:
                _create(path)
            uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
            self._database = sqlite3.connect(
                uri, uri=True, isolation_level=None, timeout=PATIENCE_S, check_same_thread=False
            )
        except (sqlite3.Error, OSError) as error:
            raise self._complaint("open", error) from error
        try:
            self._prepare(read_only=read_only)
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        self._database.close()

    def _version(self) -> int:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        return int(version)

    def _set_version(self, version: int) -> None:
        self._database.execute(f"PRAGMA user_version={version}")

    def _upgrade(self) -> None:
        with self._session("open"), suppress(sqlite3.OperationalError):  # another run is setting the same mode
            self._database.execute(f"PRAGMA journal_mode={journal_mode(self._path.parent)}")
        super()._upgrade()

    def _tidy(self) -> None:
        with suppress(sqlite3.OperationalError):  # another run is reading, or the disk is full
            self._database.execute("VACUUM")

    def _execute(self, statement: str, values: Values) -> sqlite3.Cursor:
        with _as_data_errors():
            return self._database.execute(statement, values)

    def _execute_each(self, statement: str, values: Sequence[Values]) -> None:
        with _as_data_errors():
            self._database.executemany(statement, values)

    def _stream(self, statement: str, values: Values) -> Iterable[Row]:
        return self._execute(statement, values)

    @contextmanager
    def _session(self, verb: Verb, *, writes: bool = False) -> Iterator[None]:
        try:
            if writes:
                self._database.execute("BEGIN IMMEDIATE")
            yield
            if writes:
                self._database.execute("COMMIT")
        except BaseException as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._complaint(verb, error) from error
            raise

    def _complaint(self, verb: Verb, error: sqlite3.Error | OSError) -> SiteError:
        """An error as one sentence."""
        what = (isinstance(error, OSError) and error.strerror) or str(error)
        busy = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        kind = HistoryBusyError if busy else SiteError
        todo = "try again in a moment" if busy else "repair it or move it away, or name another in HEADWAY_HISTORY"
        return kind(f"cannot {verb} the history: {what}", where=self._where, todo=todo)


@contextmanager
def _as_data_errors() -> Iterator[None]:
    """Turn Python's errors about values that SQLite cannot store into SQLite's."""
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise sqlite3.DataError(str(error)) from error


def _create(path: Path) -> None:
    """Create an empty file that only its owner can read, unless there is one already."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
