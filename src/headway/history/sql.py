"""`History`: what was learned across runs, in SQL tables, with statements that every supported database understands."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from headway.history import rows
from headway.history.base import CategoryFigures, Kept, KeptWait, NoHistoryError, State, Surplus, figures_of
from headway.history.rows import Row, Values
from headway.history.schema import STATES_SINCE, VERSION, statements_from
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.outcome import Ending

Verb = Literal["open", "read", "write"]

# Other endings say nothing about how much a task needs; many bad exits must not displace useful observations.
_TEACHING = {
    f"ending_{number}": str(ending)
    for number, ending in enumerate(each for each in Ending if each is Ending.SUCCESS or each.exhausted)
}

_ADD_CATEGORY = (
    "INSERT INTO categories (site, workflow, category) VALUES (:site, :workflow, :category) ON CONFLICT DO NOTHING"
)
_CATEGORY = "SELECT id FROM categories WHERE site = :site AND workflow = :workflow AND category = :category"
_CATEGORIES = "SELECT category FROM categories WHERE site = :site AND workflow = :workflow ORDER BY id"
_ADD = (
    "INSERT INTO observations"
    " (category, run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints) VALUES"
    " (:category, :run, :task, :attempt, :ending, :started_at, :ended_at, :given, :usage, :input_bytes, :hints)"
    " ON CONFLICT DO NOTHING"
)
_COLUMNS = "SELECT run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints FROM observations"
_NEWEST_FIRST = " ORDER BY ended_at DESC, id DESC"
_NEWEST = (
    f"{_COLUMNS} WHERE category = ({_CATEGORY}) AND ending IN (" + ", ".join(f":{name}" for name in _TEACHING) + ")"
    f"{_NEWEST_FIRST} LIMIT :most"
)
_ALL = f"{_COLUMNS} WHERE category = :number{_NEWEST_FIRST} LIMIT coalesce(:most, 9223372036854775807)"
_KEYS = (
    "SELECT id, site, workflow, category FROM categories"
    " WHERE (CAST(:workflow AS TEXT) IS NULL OR workflow = :workflow)"
    " AND (CAST(:category AS TEXT) IS NULL OR category = :category)"
)
_SEEN = "SELECT ending, started_at, ended_at, usage FROM observations WHERE category = :number"
_SURPLUS = (
    " FROM observations WHERE category = :number"
    " AND (CAST(:before AS DOUBLE PRECISION) IS NULL OR ended_at < :before)"
    " AND (CAST(:keep AS BIGINT) IS NULL OR id NOT IN (SELECT id FROM observations WHERE category = :number"
    " ORDER BY ended_at DESC, id DESC LIMIT coalesce(:keep, 0)))"
)
_REMOVE_EMPTY = "DELETE FROM categories WHERE id NOT IN (SELECT DISTINCT category FROM observations)"
_ADD_WAIT = (
    "INSERT INTO waits"
    " (site, run, job, partition_name, submitted_at, nodes, asked_s, estimate_s, waited_s) VALUES"
    " (:site, :run, :job, :partition, :submitted_at, :nodes, :asked_s, :estimate_s, :waited_s) ON CONFLICT DO NOTHING"
)
_NEWEST_WAITS = (
    "SELECT run, job, partition_name, submitted_at, nodes, asked_s, estimate_s, waited_s FROM waits"
    " WHERE site = :site ORDER BY submitted_at DESC, id DESC LIMIT :most"
)
_STATE = "SELECT state FROM states WHERE site = :site AND name = :name"
_SET_STATE = (
    "INSERT INTO states (site, name, version, state, updated_at) VALUES (:site, :name, 1, :state, :now)"
    " ON CONFLICT (site, name) DO UPDATE"
    " SET version = states.version + 1, state = excluded.state, updated_at = excluded.updated_at"
)


class Answer(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class History(ABC):
    """What was learned across runs; any number of runs may add to it at the same time.

    Everything belongs to a site: what was seen on one cluster is never an answer about another. Every change is one
    transaction, and writers take turns. A history that cannot be used raises a `SiteError`; if another run has been
    writing for longer than a run can wait, it raises a `HistoryBusyError`. No run stops for either.

    A subclass adds the connection and what differs between databases.
    """

    key: str  # the declaration of an auto-increment column

    def __init__(self, where: str) -> None:
        self._where = where  # shown to users: no secrets
        self._format = 0

    # --- different for each database ---

    @abstractmethod
    def close(self) -> None:
        """Disconnect; the history must not be used any more."""

    @abstractmethod
    def _session(self, verb: Verb, *, writes: bool = False) -> AbstractContextManager[None]:
        """A context in which statements can be executed; errors become a SiteError "cannot `verb` the history".

        If it `writes`, everything in it is one transaction, and no other run writes meanwhile.
        """

    @abstractmethod
    def _execute(self, statement: str, values: Values) -> Answer:
        """Execute a statement; values are named as in `:name`."""

    @abstractmethod
    def _execute_each(self, statement: str, values: Sequence[Values]) -> None:
        """Execute a statement once for each of the values."""

    @abstractmethod
    def _stream(self, statement: str, values: Values) -> Iterable[Row]:
        """Execute a query whose rows may not fit into memory."""

    @abstractmethod
    def _version(self) -> int:
        """The format of the database; 0 if it is empty."""

    @abstractmethod
    def _set_version(self, version: int) -> None:
        """Store the format."""

    def _make_room(self) -> None:
        """Create what the first table needs."""

    def _tidy(self) -> None:
        """Free the disk space of removed rows, if the database does not do that by itself."""

    # --- the format ---

    def _prepare(self, *, read_only: bool) -> None:
        """Check the format; unless read-only, create the tables or upgrade them to today's format."""
        with self._session("open"):
            self._format = self._version()
        if self._format > VERSION:
            raise SiteError(
                f"this history was written by a newer Headway (format {self._format}, this one knows {VERSION})",
                where=self._where,
                todo="update Headway, or name another file in HEADWAY_HISTORY",
            )
        if read_only and self._format == 0:
            raise NoHistoryError(self._where)
        if not read_only and self._format < VERSION:
            self._upgrade()

    def _upgrade(self) -> None:
        with self._session("open", writes=True):
            version = self._version()  # another run may have upgraded it meanwhile
            if version < VERSION:
                self._make_room()
                for statement in statements_from(version, self.key):
                    self._execute(statement, {})
                self._set_version(VERSION)
        self._format = VERSION

    # --- used by runs ---

    def add(self, site: str, workflow: str, observations: Sequence[Observation]) -> None:
        """Add observations; those that are there already stay as they are."""
        with self._session("write", writes=True):
            names = dict.fromkeys(observation.category for observation in observations)
            numbers = {name: self._category(site, workflow, name) for name in names}
            self._execute_each(_ADD, [rows.observation_values(numbers[each.category], each) for each in observations])

    def _category(self, site: str, workflow: str, category: str) -> int:
        key = {"site": site, "workflow": workflow, "category": category}
        self._execute(_ADD_CATEGORY, key)
        (number,) = self._execute(_CATEGORY, key).fetchone()
        return int(number)

    def newest(self, site: str, workflow: str, categories: Collection[str], most: int) -> list[Observation]:
        """The newest observations that sizers can learn from, at most `most` of each category; oldest first."""
        found: list[Observation] = []
        with self._session("read"):
            for category in categories:
                key = {"site": site, "workflow": workflow, "category": category}
                for row in self._execute(_NEWEST, key | _TEACHING | {"most": most}).fetchall():
                    found += rows.observation_of(category, row)
        found.sort(key=lambda observation: (observation.ended_at, observation.run, observation.task))
        return found

    def categories(self, site: str, workflow: str) -> list[str]:
        """The categories of a workflow that have observations."""
        with self._session("read"):
            return [name for (name,) in self._execute(_CATEGORIES, {"site": site, "workflow": workflow}).fetchall()]

    def add_waits(self, site: str, waits: Sequence[KeptWait]) -> None:
        """Add waits; those that are there already stay as they are."""
        with self._session("write", writes=True):
            self._execute_each(_ADD_WAIT, [rows.wait_values(site, kept) for kept in waits])

    def newest_waits(self, site: str, most: int) -> list[KeptWait]:
        """The waits of the `most` jobs that were submitted last; oldest first."""
        if self._format < STATES_SINCE:
            return []  # an old history, opened read-only
        with self._session("read"):
            found = self._execute(_NEWEST_WAITS, {"site": site, "most": most}).fetchall()
        return [kept for row in reversed(found) for kept in rows.wait_of(row)]

    def state(self, site: str, name: str) -> State | None:
        """The state of a learner at a site; None if there is none that can be read."""
        if self._format < STATES_SINCE:
            return None
        with self._session("read"):
            return self._state({"site": site, "name": name})

    def _state(self, key: Values) -> State | None:
        row = self._execute(_STATE, key).fetchone()
        return rows.state_of(row[0]) if row else None

    def update_state(self, site: str, name: str, change: Callable[[State | None], State]) -> State:
        """Replace a learner's state by what `change` makes of it, in one transaction, and return the new state.

        `change` must be quick, since other writers wait, and must not use the history; if it raises, nothing changes.
        """
        key = {"site": site, "name": name}
        with self._session("write", writes=True):
            state = change(self._state(key))
            self._execute(_SET_STATE, key | {"state": rows.state_text(state), "now": time.time()})
        return state

    # --- used by commands for users ---

    def figures(self, workflow: str | None = None, category: str | None = None) -> list[CategoryFigures]:
        """Summarise all categories, those of one workflow, or one category, at every site."""
        with self._session("read"):
            return [
                figures_of(site, name, kind, seen)
                for number, site, name, kind in self._keys(workflow, category)
                if (seen := [each for row in self._stream(_SEEN, {"number": number}) for each in rows.seen_of(row)])
            ]

    def all(self, workflow: str | None = None, category: str | None = None, most: int | None = None) -> Iterator[Kept]:
        """All observations, those of one workflow, or of one category; category by category, the newest first.

        The history must not be used for anything else until the iterator is exhausted or closed.
        """
        with self._session("read"):
            for number, site, name, kind in self._keys(workflow, category):
                for row in self._stream(_ALL, {"number": number, "most": most}):
                    for observation in rows.observation_of(kind, row):
                        yield Kept(site, name, observation)

    def _keys(self, workflow: str | None, category: str | None) -> list[tuple[int, str, str, str]]:
        """Ids and names of categories, by workflow and site, in the order of their creation."""
        found = self._execute(_KEYS, {"workflow": workflow, "category": category}).fetchall()
        return sorted(found, key=lambda row: (row[2], row[1], row[0]))

    def surplus(self, workflow: str | None, before: float | None, keep: int | None) -> list[Surplus]:
        """Count what `remove` would remove."""
        with self._session("read"):
            return self._surplus("SELECT count(*)", workflow, {"before": before, "keep": keep})

    def remove(self, workflow: str | None, before: float | None, keep: int | None) -> list[Surplus]:
        """Remove observations that ended `before` a time and are not among the `keep` newest of their category."""
        with self._session("write", writes=True):
            removed = self._surplus("DELETE", workflow, {"before": before, "keep": keep})
            self._execute(_REMOVE_EMPTY, {})
        self._tidy()
        return removed

    def _surplus(self, verb: str, workflow: str | None, which: Values) -> list[Surplus]:
        found = []
        for number, site, name, category in self._keys(workflow, None):
            answer = self._execute(verb + _SURPLUS, which | {"number": number})
            observations = answer.rowcount if verb == "DELETE" else answer.fetchone()[0]
            if observations:
                found.append(Surplus(site, name, category, observations))
        return found
