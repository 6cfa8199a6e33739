"""`SqliteJournal`: a journal in one SQLite file. `JournalTail`: reads it while another process appends."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headway.file_systems import journal_mode
from headway.journal.base import Journal
from headway.model.errors import SiteError
from headway.model.records import Decision, Event, decode, encode, kind, task_of

VERSION = 1
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
        mode = "ro" if read_only else "rwc"
        with self._complaints("open"):
            self._database = sqlite3.connect(
                f"file:{_uri_path(path)}?mode={mode}", uri=True, isolation_level=None, timeout=30
            )
            if not read_only:
                path.chmod(0o600)
                self._database.execute(f"PRAGMA journal_mode={journal_mode(path.parent)}")
                self._database.execute("PRAGMA synchronous=FULL")
            self._check_version(read_only)

    @classmethod
    def create(cls, path: Path, records: Sequence[Event | Decision]) -> SqliteJournal:
        """Create a journal that starts with `records`; a reader finds it with all of them or not at all."""
        unfinished = path.with_name(f"{path.name}.new")
        journal = cls(unfinished)
        journal.append(records)
        journal.close()
        unfinished.rename(path)
        return cls(path)

    def _check_version(self, read_only: bool) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise SiteError(
                f"this journal was written by a newer Headway (format {version}, this one knows {VERSION})",
                where=str(self._path),
                todo="update Headway to read it",
            )
        if version == 0 and not read_only:
            self._database.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version={VERSION};COMMIT;")

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

    def replay(self, task: str | None = None, kinds: Collection[str] = ()) -> Iterator[Event | Decision]:
        conditions = ["task = ?"] if task is not None else []
        conditions += [f"kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        values = [*([task] if task is not None else []), *kinds]
        with self._complaints("read"):
            query = f"SELECT sequence, body FROM records {where} ORDER BY sequence"  # noqa: S608 - constants and ?
            for sequence, body in self._database.execute(query, values):
                yield self._decoded(sequence, body)

    def _decoded(self, sequence: int, body: bytes) -> Event | Decision:
        try:
            return decode(body)
        except msgspec.MsgspecError as error:
            todo = "start anew with `headway run --again`"
            raise SiteError(f"record {sequence} cannot be read: {error}", where=str(self._path), todo=todo) from error

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _complaints(self, verb: str) -> Iterator[None]:
        """Turn errors of SQLite and the file system into a SiteError."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            todo = "nothing is lost: make room or correct the permissions, then `headway resume`"
            raise SiteError(f"cannot {verb} the journal: {error}", where=str(self._path), todo=todo) from error


class JournalTail(SqliteJournal):
    """Reads the records of a run as another process appends them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        self._seen = 0

    def news(self) -> list[Event | Decision]:
        """The records since the last call, at most `MOST_AT_ONCE`; empty if there are none yet."""
        query = "SELECT sequence, body FROM records WHERE sequence > ? ORDER BY sequence LIMIT ?"
        with self._complaints("read"):
            rows = self._database.execute(query, (self._seen, MOST_AT_ONCE)).fetchall()
        if rows:
            self._seen = rows[-1][0]
        return [self._decoded(*row) for row in rows]


def _uri_path(path: Path) -> str:
    return str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
