"""The contract of a history, and what it keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from headway.history.figures import CategoryFigures
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.records import SeenWait

State = dict[str, Any]  # what JSON can hold


class Kept(Struct, frozen=True):
    """An observation and where it belongs."""

    site: str
    workflow: str
    observation: Observation


class Surplus(Struct, frozen=True):
    """How many observations of a category are not wanted any more."""

    site: str
    workflow: str
    category: str
    observations: int


class KeptWait(Struct, frozen=True):
    """How long a job waited in a site's queue, and when it was submitted.

    `run` is the uid of the run whose job it was, empty for other people's; `job` its tag, or the queue's number for it.
    Site, run and job together name one wait for ever.
    """

    run: str
    job: str
    partition: str  # empty: the site has one, or chose
    submitted_at: float
    wait: SeenWait


class History(ABC):
    """What was learned, across runs, and added to by any number of runs at once.

    Everything belongs to a site: what was seen on one cluster is never an answer about another. The history owns the
    order of writers: every addition and every change is one transaction that is seen whole or not at all, and two
    writers take turns. Whoever calls it owns the patience: a history that cannot be used raises a `SiteError`, one that
    others have been writing to for longer than a run can wait a `HistoryBusyError`; no run ever stops for either.
    """

    # --- what runs do ---

    @abstractmethod
    def add(self, site: str, workflow: str, observations: Sequence[Observation]) -> None:
        """Keep observations; those that are there already stay as they are."""

    @abstractmethod
    def newest(self, site: str, workflow: str, categories: Collection[str], most: int) -> list[Observation]:
        """The newest observations that teach something, at most so many of each category; oldest first."""

    @abstractmethod
    def categories(self, site: str, workflow: str) -> list[str]:
        """The categories of a workflow of which something is known."""

    @abstractmethod
    def add_waits(self, site: str, waits: Sequence[KeptWait]) -> None:
        """Keep waits; those that are there already stay as they are."""

    @abstractmethod
    def newest_waits(self, site: str, most: int) -> list[KeptWait]:
        """The waits of the jobs that were submitted last, at most so many; oldest first."""

    @abstractmethod
    def state(self, site: str, name: str) -> State | None:
        """What the learner of that name keeps for this site; None if nothing that can be read."""

    @abstractmethod
    def update_state(self, site: str, name: str, change: Callable[[State | None], State]) -> State:
        """Put what `change` makes of a learner's state in its place, and return that.

        Nobody else changes it in between. `change` must be quick, since other writers wait, and must not use the
        history; if it raises, nothing has happened.
        """

    # --- what people do ---

    @abstractmethod
    def figures(self, workflow: str | None = None, category: str | None = None) -> list[CategoryFigures]:
        """What is known of each category: of all, of one workflow's, or of one, on every site."""

    @abstractmethod
    def all(self, workflow: str | None = None, category: str | None = None, most: int | None = None) -> Iterator[Kept]:
        """Observations of all, of one workflow's, or of one category, category by category, the newest first.

        Nothing else may be asked of this history until all are read, or whoever reads has closed the iterator.
        """

    @abstractmethod
    def surplus(
        self, workflow: str | None = None, ended_before: float | None = None, keep: int | None = None
    ) -> list[Surplus]:
        """What `remove` would remove."""

    @abstractmethod
    def remove(
        self, workflow: str | None = None, ended_before: float | None = None, keep: int | None = None
    ) -> list[Surplus]:
        """Forget what ended before that time and is not among the newest so many of its category."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it; nothing may be asked any more."""


class HistoryBusyError(SiteError):
    """Somebody else is writing, and has been for longer than we wait."""


class NoHistoryError(SiteError):
    """Whoever only looks finds that nobody has begun a history there."""

    def __init__(self, where: str) -> None:
        super().__init__("there is no history here yet", where=where, todo="`headway run` begins one")
