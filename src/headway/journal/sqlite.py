"""`SqliteJournal`: a journal in one SQLite file. `JournalTail`: reads it while another process appends."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from headway.file_systems import journal_mode
from headway.journal.base import Journal
from headway.model.codec import decode, decode_brief, encode
from headway.model.damage import SIGNS, DamagedError, damage_in, damaged
from headway.model.errors import DiskFullError, SiteError, is_disk_full
from headway.model.records import Decision, Event, kind, task_of

VERSION = 1
DAMAGED = "what its tasks made is untouched: `headway run` goes by the run before it, `headway run --again` starts anew"
_RESUMABLE = "nothing is lost: make room or correct the permissions, then `headway resume`"
_NOT_BEGUN = "nothing has run yet: make room or correct the permissions, then start again"
# What SQLite says of the machine; anything else that it complains of is about what the file holds.
_TROUBLE = (
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
)
_HALF_WRITTEN = "its manager died in the middle of a write, and that cannot be undone by one who may only read here"
MOST_AT_ONCE = 5000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    task TEXT,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS records_by_task ON records (task) WHERE task IS NOT NULL;
"""


class SqliteJournal(Journal):
    """One table with one row per record. Every append is one transaction, on disk when it returns."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._todo = _RESUMABLE
        self._connect(read_only=read_only)
        if not read_only:
            with self._complaints("open"):
                self._database.execute(f"PRAGMA journal_mode={journal_mode(path.parent)}")

    def _connect(self, *, read_only: bool) -> None:
        with self._complaints("open"):
            if self._path.is_symlink():
                raise OSError(errno.ELOOP, "a link may lead anywhere")
            if not read_only:  # before SQLite creates it with the rights of any file
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            mode = "rw" if not read_only else "ro&immutable=1" if self._is_frozen() else "ro"
            try:
                self._database = self._opened(mode, read_only=read_only)
            except sqlite3.OperationalError as error:
                if not read_only or not _is_half_written(error):
                    raise
                self._database = self._opened("rw", read_only=True)

    def _opened(self, mode: str, *, read_only: bool) -> sqlite3.Connection:
        uri = f"file:{_uri_path(self._path)}?mode={mode}"
        database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
        try:
            self._check_version(database, read_only=read_only)
            database.execute("PRAGMA synchronous=FULL")
        except BaseException:
            database.close()
            raise
        return database

    def _is_frozen(self) -> bool:
        """Whether it lies whole on a read-only file system, where SQLite could not make the files it reads with."""
        if not os.statvfs(self._path).f_flag & os.ST_RDONLY:
            return False
        logs = [Path(f"{self._path}{end}") for end in ("-wal", "-journal")]
        return not any(log.exists() and log.stat().st_size for log in logs)

    @classmethod
    def create(cls, path: Path, records: Sequence[Event | Decision]) -> SqliteJournal:
        """Create a journal that starts with `records`; a reader finds it with all of them or not at all."""
        unfinished = cls.__new__(cls)
        unfinished._path = path.with_name(f"{path.name}.new")
        unfinished._todo = _NOT_BEGUN
        try:
            # Without a write-ahead log, which would stay behind if there were no room to close the file properly.
            unfinished._connect(read_only=False)
            unfinished.append(records)
            unfinished.close()
            with unfinished._complaints("create"):
                unfinished._path.rename(path)
        except SiteError:
            for end in ("", "-journal"):
                with suppress(OSError):
                    os.unlink(f"{unfinished._path}{end}")
            raise
        return cls(path)

    def _check_version(self, database: sqlite3.Connection, *, read_only: bool) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise SiteError(
                f"this journal was written by a newer Headway (format {version}, this one knows {VERSION})",
                where=str(self._path),
                todo="update Headway to read it",
            )
        if version == VERSION:
            return
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if read_only or tables or version < 0:
            raise DamagedError("this file is not a journal of Headway", where=str(self._path), todo=DAMAGED)
        database.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version={VERSION};COMMIT;")

    def append(self, records: Sequence[Event | Decision]) -> None:
        rows = [(kind(record), task_of(record), encode(record)) for record in records]
        with self._complaints("write"):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany("INSERT INTO records (kind, task, body) VALUES (?, ?, ?)", rows)
                self._database.execute("COMMIT")
            except sqlite3.Error:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def replay(
        self, task: str | None = None, kinds: Collection[str] = (), *, brief: bool = False, after: int = 0
    ) -> Iterator[Event | Decision]:
        conditions = ["sequence > ?"]
        conditions += ["task = ?"] if task is not None else []
        conditions += [f"kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
        where = f"WHERE {' AND '.join(conditions)}"
        values: list[str | int] = [after, *([task] if task is not None else []), *kinds]
        with self._complaints("read"):
            query = f"SELECT sequence, body FROM records {where} ORDER BY sequence"  # noqa: S608 - constants and ?
            yield from self._decoded(self._select(query, values), decode_brief if brief else decode)

    def _select(self, query: str, values: Sequence[str | int]) -> sqlite3.Cursor:
        """Read, also if the manager has died in the middle of a write since this journal was opened."""
        try:
            return self._database.execute(query, values)
        except sqlite3.OperationalError as error:
            if not _is_half_written(error):
                raise
            unable = self._database
            self._database = self._opened("rw", read_only=True)
            unable.close()
            return self._database.execute(query, values)

    def body(self, number: int) -> bytes | None:
        """The record of that number, from 1 on, as it is stored."""
        with self._complaints("read"):
            row = self._select("SELECT body FROM records WHERE sequence = ?", (number,)).fetchone()
        return None if row is None else bytes(row[0])

    def _decoded(
        self, rows: Iterable[tuple[int, bytes]], read: Callable[[bytes], Event | Decision] = decode
    ) -> Iterator[Event | Decision]:
        for sequence, body in rows:
            try:
                record = read(body)
            except SIGNS as error:
                raise damaged(f"record {sequence}", error, where=str(self._path), todo=DAMAGED) from error
            yield record

    def careful(self) -> AbstractContextManager[None]:
        """A block in which everything that fails over the records becomes one sentence: this journal is damaged."""
        return damage_in(f"the journal of run {self._path.parent.name}", where=str(self._path), todo=DAMAGED)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _complaints(self, verb: str) -> Iterator[None]:
        """Turn errors of SQLite and the file system into a SiteError, or a DamagedError if the file is to blame."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeError) as error:
            why = _HALF_WRITTEN if _is_half_written(error) else error
            what, where = f"cannot {verb} the journal: {why}", str(self._path)
            code = getattr(error, "sqlite_errorcode", None)
            if isinstance(error, OSError) or (code is not None and code & 0xFF in _TROUBLE):
                full = is_disk_full(error) or code == sqlite3.SQLITE_FULL
                raise (DiskFullError if full else SiteError)(what, where=where, todo=self._todo) from error
            raise DamagedError(what, where=where, todo=DAMAGED) from error


class JournalTail(SqliteJournal):
    """Reads the records of a run as another process appends them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        self._seen = 0

    def news(self) -> list[Event | Decision]:
        """The records since the last call, at most `MOST_AT_ONCE`; empty if there are none yet."""
        query = "SELECT sequence, body FROM records WHERE sequence > ? ORDER BY sequence LIMIT ?"
        with self._complaints("read"):
            rows = self._select(query, (self._seen, MOST_AT_ONCE)).fetchall()
        if rows:
            self._seen = rows[-1][0]
        return list(self._decoded(rows))


def _is_half_written(error: Exception) -> bool:
    """Whether a manager died while it wrote: SQLite has to undo what that had begun before anything can be read."""
    return getattr(error, "sqlite_errorcode", None) in (
        sqlite3.SQLITE_READONLY_ROLLBACK,
        sqlite3.SQLITE_READONLY_RECOVERY,
    )


def _uri_path(path: Path) -> str:
    return str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
