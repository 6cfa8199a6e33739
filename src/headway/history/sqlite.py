"""`SqliteHistory`: observations in one SQLite file, to which any number of runs may add at once."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from headway.file_systems import journal_mode
from headway.history.figures import CategoryFigures, figures_of
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.outcome import Ending

VERSION = 1
PATIENCE_S = 2.0  # for somebody else who is writing: whoever waits here holds up a run

_SCHEMA = """
CREATE TABLE IF NOT EXISTS categories (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL,
    workflow TEXT NOT NULL,
    category TEXT NOT NULL,
    UNIQUE (site, workflow, category)
);
CREATE TABLE IF NOT EXISTS observations (
    id INTEGER PRIMARY KEY,
    category INTEGER NOT NULL REFERENCES categories,
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    ending TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    given TEXT NOT NULL,
    usage TEXT NOT NULL,
    input_bytes INTEGER,
    hints TEXT NOT NULL,
    UNIQUE (run, task, attempt)
);
CREATE INDEX IF NOT EXISTS observations_by_category ON observations (category, ended_at);
"""
# Of the other ends nobody learns how much a task needs; a thousand bad exits must not push out what does teach.
_TEACHING = tuple(str(ending) for ending in Ending if ending is Ending.SUCCESS or ending.exhausted)

_SELECT = (
    "SELECT run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints"
    " FROM observations WHERE category = "
)
_INSERT = (
    "INSERT OR IGNORE INTO observations"
    " (category, run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CATEGORY = "(SELECT id FROM categories WHERE site = ? AND workflow = ? AND category = ?)"
_NEWEST = (
    _SELECT + _CATEGORY + " AND ending IN (" + ", ".join("?" * len(_TEACHING)) + ") ORDER BY ended_at DESC LIMIT ?"
)
_ALL = _SELECT + "? ORDER BY ended_at DESC LIMIT ?"
_KEYS = (
    "SELECT id, site, workflow, category FROM categories WHERE (?1 IS NULL OR workflow = ?1)"
    " AND (?2 IS NULL OR category = ?2) ORDER BY workflow, site, id"
)
_SEEN = (  # SQLite keeps whatever somebody puts into a column: hence the casts
    "SELECT ending, CAST(started_at AS REAL), CAST(ended_at AS REAL),"
    " CAST(json_extract(usage, '$.memory_bytes[0]') AS REAL)"
    " FROM observations WHERE category = ? AND json_valid(usage)"
)
_SURPLUS = (
    " FROM observations WHERE category = ?1 AND (?2 IS NULL OR ended_at < ?2) AND (?3 IS NULL OR id NOT IN"
    " (SELECT id FROM observations WHERE category = ?1 ORDER BY ended_at DESC LIMIT coalesce(?3, 0)))"
)


class Kept(msgspec.Struct, frozen=True):
    """An observation and where it belongs."""

    site: str
    workflow: str
    observation: Observation


class Surplus(msgspec.Struct, frozen=True):
    """How many observations of a category are not wanted any more."""

    site: str
    workflow: str
    category: str
    observations: int


class SqliteHistory:
    """Every addition is one transaction; an observation that is there already is not added again."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        with self._complaints("open"):
            if not read_only:
                _create(path)
            mode = "ro" if read_only else "rw"
            uri = f"{path.absolute().as_uri()}?mode={mode}"
            self._database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=PATIENCE_S)
            try:
                self._prepare(read_only)
            except BaseException:
                self._database.close()
                raise

    def _prepare(self, read_only: bool) -> None:
        version = self._version()
        if version > VERSION:
            raise SiteError(
                f"this history was written by a newer Headway (format {version}, this one knows {VERSION})",
                where=str(self._path),
                todo="update Headway, or name another file in HEADWAY_HISTORY",
            )
        if read_only or version == VERSION:
            return
        with suppress(sqlite3.OperationalError):  # another run is at it in this moment: it sets the same
            self._database.execute(f"PRAGMA journal_mode={journal_mode(self._path.parent)}")
        with self._transaction():
            if self._version() == 0:
                for statement in _SCHEMA.split(";"):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version={VERSION}")

    def _version(self) -> int:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        return int(version)

    # --- what runs do ---

    def add(self, site: str, workflow: str, observations: Sequence[Observation]) -> None:
        """Keep observations; those that are there already stay as they are."""
        with self._complaints("write"), self._transaction():
            names = dict.fromkeys(observation.category for observation in observations)
            ids = {name: self._category_id(site, workflow, name) for name in names}
            rows = [(ids[observation.category], *_row(observation)) for observation in observations]
            self._database.executemany(_INSERT, rows)

    def _category_id(self, site: str, workflow: str, category: str) -> int:
        key = (site, workflow, category)
        self._database.execute("INSERT OR IGNORE INTO categories (site, workflow, category) VALUES (?,?,?)", key)
        (number,) = self._database.execute(_CATEGORY[1:-1], key).fetchone()
        return int(number)

    def newest(self, site: str, workflow: str, categories: Collection[str], most: int) -> list[Observation]:
        """The newest observations that teach something, at most so many of each category; oldest first."""
        found: list[Observation] = []
        with self._complaints("read"):
            for category in categories:
                for row in self._database.execute(_NEWEST, (site, workflow, category, *_TEACHING, most)):
                    found += _observation(category, row)
        found.sort(key=lambda observation: (observation.ended_at, observation.run, observation.task))
        return found

    def categories(self, site: str, workflow: str) -> list[str]:
        """The categories of a workflow of which something is known."""
        with self._complaints("read"):
            query = "SELECT category FROM categories WHERE site = ? AND workflow = ? ORDER BY id"
            return [name for (name,) in self._database.execute(query, (site, workflow))]

    # --- what people do ---

    def figures(self, workflow: str | None = None, category: str | None = None) -> list[CategoryFigures]:
        """What is known of each category: of all, of one workflow's, or of one, on every site."""
        with self._complaints("read"):
            return [
                figures_of(site, name, kind, rows)
                for number, site, name, kind in self._keys(workflow, category)
                if (rows := self._database.execute(_SEEN, (number,)).fetchall())
            ]

    def all(self, workflow: str | None = None, category: str | None = None, most: int | None = None) -> Iterator[Kept]:
        """Observations of all, of one workflow's, or of one category, category by category, the newest first."""
        with self._complaints("read"):
            for number, site, name, kind in self._keys(workflow, category):
                for row in self._database.execute(_ALL, (number, -1 if most is None else most)):
                    for observation in _observation(kind, row):
                        yield Kept(site, name, observation)

    def _keys(self, workflow: str | None, category: str | None) -> list[tuple[int, str, str, str]]:
        return self._database.execute(_KEYS, (workflow, category)).fetchall()

    def surplus(
        self, workflow: str | None = None, ended_before: float | None = None, keep: int | None = None
    ) -> list[Surplus]:
        """What `remove` would remove."""
        with self._complaints("read"):
            return self._each_surplus("SELECT count(*)", workflow, ended_before, keep)

    def remove(
        self, workflow: str | None = None, ended_before: float | None = None, keep: int | None = None
    ) -> list[Surplus]:
        """Forget what ended before that time and is not among the newest so many of its category."""
        with self._complaints("write"):
            with self._transaction():
                removed = self._each_surplus("DELETE", workflow, ended_before, keep)
                self._database.execute(
                    "DELETE FROM categories WHERE id NOT IN (SELECT DISTINCT category FROM observations)"
                )
            with suppress(sqlite3.OperationalError):  # somebody is reading, or the disk is full: it stays as large
                self._database.execute("VACUUM")
        return removed

    def _each_surplus(
        self, verb: str, workflow: str | None, ended_before: float | None, keep: int | None
    ) -> list[Surplus]:
        found = []
        for number, site, name, category in self._keys(workflow, None):
            cursor = self._database.execute(verb + _SURPLUS, (number, ended_before, keep))
            observations = cursor.rowcount if verb == "DELETE" else cursor.fetchone()[0]
            if observations:
                found.append(Surplus(site, name, category, observations))
        return found

    def close(self) -> None:
        self._database.close()

    # --- trouble ---

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _complaints(self, verb: str) -> Iterator[None]:
        """SQLite's errors as one sentence about the file."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError) as error:  # the latter: what SQLite cannot hold
            what = (isinstance(error, OSError) and error.strerror) or str(error)
            busy = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            kind = HistoryBusyError if busy else SiteError
            todo = "try again in a moment" if busy else "mend it or move it away, or name another in HEADWAY_HISTORY"
            raise kind(f"cannot {verb} the history: {what}", where=str(self._path), todo=todo) from error


class HistoryBusyError(SiteError):
    """Somebody else is writing, and has been for longer than we wait."""


def _create(path: Path) -> None:
    """An empty file that only its owner can read, unless there is one already."""
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder().decode


def _row(observation: Observation) -> tuple[Any, ...]:
    return (
        observation.run,
        observation.task,
        observation.attempt,
        str(observation.ending),
        observation.started_at,
        observation.ended_at,
        _ENCODE(observation.given).decode(),
        _ENCODE(observation.usage).decode(),
        observation.input_bytes,
        _ENCODE(observation.hints).decode(),
    )


def _observation(category: str, row: tuple[Any, ...]) -> list[Observation]:
    """The observation in a row; none if it cannot be read: somebody edited it, and the others still teach."""
    *plain, given, usage, input_bytes, hints = row
    try:
        fields = [category, *plain, _DECODE(given), _DECODE(usage), input_bytes, _DECODE(hints)]
        return [msgspec.convert(fields, Observation)]
    except (msgspec.MsgspecError, TypeError):
        return []
