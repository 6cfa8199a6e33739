"""`History`: what was learned across runs, in SQL tables."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from msgspec import structs

from headway.history import rows, statements
from headway.history.base import (
    CategoryFigures,
    Kept,
    KeptWait,
    Key,
    NoHistoryError,
    State,
    Surplus,
    figures_of,
    state_suffix,
)
from headway.history.rows import Row, Values
from headway.history.schema import ORIGINS_SINCE, STATES_SINCE, VERSION, statements_from
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.origin import NO_ORIGIN, Identity, Origin

Verb = Literal["open", "read", "write"]
Projects = Collection[str] | None  # None: all


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

    def add(self, site: str, workflow: str, observations: Sequence[Observation], origin: Origin = NO_ORIGIN) -> None:
        """Add observations; those that are there already stay as they are, and impossible ones are left out."""
        observations = [observation for observation in observations if observation.is_possible]
        with self._session("write", writes=True):
            names = dict.fromkeys(observation.category for observation in observations)
            ids = {name: self._ids(site, workflow, name, origin) for name in names}
            self._execute_each(
                statements.ADD, [rows.observation_values(*ids[each.category], each) for each in observations]
            )
            if origin.project:
                self._execute(
                    statements.SET_DIRECTORY,
                    {"site": site, "project": origin.project, "directory": origin.directory},
                )

    def _ids(self, site: str, workflow: str, category: str, origin: Origin) -> tuple[int, int | None]:
        """The ids of a category and of an origin, which are created if they are new."""
        key = {"site": site, "workflow": workflow, "category": category}
        self._execute(statements.ADD_CATEGORY, key)
        (number,) = self._execute(statements.CATEGORY, key).fetchone()
        return int(number), self._origin(int(number), origin.project, origin.identity(category))

    def _origin(self, category: int, project: str, identity: Identity) -> int | None:
        if not project:
            return None
        key = {"category": category, "project": project} | structs.asdict(identity)
        self._execute(statements.ADD_ORIGIN, key)
        return int(self._execute(statements.ORIGIN, key).fetchone()[0])

    def adopt(self, site: str, workflow: str, project: str) -> None:
        """Give a project what was observed of its workflow before projects were known."""
        with self._session("write", writes=True):
            for (number,) in self._execute(statements.UNOWNED, {"site": site, "workflow": workflow}).fetchall():
                origin = self._origin(number, project, Identity())
                self._execute(statements.ADOPT, {"category": number, "origin": origin})

    def newest(
        self, site: str, workflow: str, categories: Collection[str], most: int, origin: Origin = NO_ORIGIN
    ) -> list[Observation]:
        """The newest observations that a run of this origin can learn from, at most `most` a category; oldest first."""
        found: list[Observation] = []
        statement = statements.NEWEST.format(mine=statements.MINE if self._has_origins else statements.OF_NOBODY)
        with self._session("read"):
            for category in categories:
                key = {"site": site, "workflow": workflow, "category": category, "project": origin.project}
                key |= structs.asdict(origin.identity(category)) | statements.TEACHING
                for row in self._execute(statement, key | {"most": most}).fetchall():
                    found += rows.observation_of(category, row)
        found.sort(key=lambda observation: (observation.ended_at, observation.run, observation.task))
        return found

    @property
    def _has_origins(self) -> bool:
        """Whether the format has origins; an old history that is opened read-only does not."""
        return self._format >= ORIGINS_SINCE

    def categories(self, site: str, workflow: str) -> list[str]:
        """The categories of a workflow that have observations."""
        with self._session("read"):
            found = self._execute(statements.CATEGORIES, {"site": site, "workflow": workflow}).fetchall()
            return [name for (name,) in found]

    def add_waits(self, site: str, waits: Sequence[KeptWait]) -> None:
        """Add waits; those that are there already stay as they are."""
        with self._session("write", writes=True):
            self._execute_each(statements.ADD_WAIT, [rows.wait_values(site, kept) for kept in waits])

    def newest_waits(self, site: str, most: int) -> list[KeptWait]:
        """The waits of the `most` jobs that were submitted last; oldest first."""
        if self._format < STATES_SINCE:
            return []  # an old history, opened read-only
        with self._session("read"):
            found = self._execute(statements.NEWEST_WAITS, {"site": site, "most": most}).fetchall()
        return [kept for row in reversed(found) for kept in rows.wait_of(row)]

    def state(self, site: str, name: str) -> State | None:
        """The state of a learner at a site; None if there is none that can be read."""
        if self._format < STATES_SINCE:
            return None
        with self._session("read"):
            return self._state({"site": site, "name": name})

    def _state(self, key: Values) -> State | None:
        row = self._execute(statements.STATE, key).fetchone()
        return rows.state_of(row[0]) if row else None

    def update_state(self, site: str, name: str, change: Callable[[State | None], State]) -> State:
        """Replace a learner's state by what `change` makes of it, in one transaction, and return the new state.

        `change` must be quick, since other writers wait, and must not use the history; if it raises, nothing changes.
        """
        key = {"site": site, "name": name}
        with self._session("write", writes=True):
            state = change(self._state(key))
            self._execute(statements.SET_STATE, key | {"state": rows.state_text(state), "now": time.time()})
        return state

    # --- used by commands for users ---

    def figures(
        self, workflow: str | None = None, category: str | None = None, projects: Projects = None
    ) -> list[CategoryFigures]:
        """Summarise all categories, those of one workflow or of some projects, or one category, at every site."""
        with self._session("read"):
            all_figures = (
                figures_of(key, (each for row in self._rows(statements.SEEN, key) for each in rows.seen_of(row)))
                for key in self._keys(workflow, category, projects)
            )
            return [figures for figures in all_figures if figures is not None]

    def all(
        self,
        workflow: str | None = None,
        category: str | None = None,
        most: int | None = None,
        projects: Projects = None,
    ) -> Iterator[Kept]:
        """All observations, or those of one workflow, category or some projects; key by key, the newest first.

        The history must not be used for anything else until the iterator is exhausted or closed.
        """
        with self._session("read"):
            for key in self._keys(workflow, category, projects):
                for row in self._rows(statements.ALL, key, most=most):
                    for observation in rows.observation_of(key.category, row):
                        yield Kept(key.site, key.workflow, observation, key.project)

    def _keys(self, workflow: str | None, category: str | None, projects: Projects) -> list[Key]:
        """The categories of projects, by workflow, site and project, in the order of their creation."""
        statement = statements.KEYS if self._has_origins else statements.OLD_KEYS
        found = (Key(*row) for row in self._execute(statement, {"workflow": workflow, "category": category}).fetchall())
        chosen = [key for key in found if projects is None or key.project in projects]
        return sorted(chosen, key=lambda key: (key.workflow, key.site, key.directory, key.project, key.number))

    def _of_key(self, statement: str) -> str:
        return statement.format(of_key=statements.OF_KEY if self._has_origins else statements.OLD_OF_KEY)

    def _rows(self, statement: str, key: Key, **values: int | None) -> Iterable[Row]:
        return self._stream(self._of_key(statement), {"number": key.number, "project": key.project} | values)

    def surplus(
        self, workflow: str | None, before: float | None, keep: int | None, projects: Projects = None
    ) -> list[Surplus]:
        """Count what `remove` would remove."""
        with self._session("read"):
            return self._surplus("SELECT count(*)", self._keys(workflow, None, projects), before, keep)

    def remove(
        self, workflow: str | None, before: float | None, keep: int | None, projects: Projects = None
    ) -> list[Surplus]:
        """Remove observations that ended `before` a time and are not among the `keep` newest of their category.

        Without such a limit, what agents have learned there is removed too.
        """
        with self._session("write", writes=True):
            keys = self._keys(workflow, None, projects)
            removed = self._surplus("DELETE", keys, before, keep)
            for statement in statements.REMOVE_EMPTY:
                self._execute(statement, {})
            if before is None and keep is None:
                for site, name in {(key.site, state_suffix(key.workflow, key.project)) for key in keys}:
                    pattern = "%" + re.sub(r"([%_!])", r"!\1", name)
                    self._execute(statements.REMOVE_STATES, {"site": site, "pattern": pattern})
        self._tidy()
        return removed

    def _surplus(self, verb: str, keys: Iterable[Key], before: float | None, keep: int | None) -> list[Surplus]:
        found = []
        for key in keys:
            which = {"number": key.number, "project": key.project, "before": before, "keep": keep}
            answer = self._execute(self._of_key(verb + statements.SURPLUS), which)
            observations = answer.rowcount if verb == "DELETE" else answer.fetchone()[0]
            if observations:
                found.append(Surplus(key.site, key.workflow, key.category, observations, key.project, key.directory))
        return found
