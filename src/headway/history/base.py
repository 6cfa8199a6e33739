"""The contract of a history, and the items that it keeps."""

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
    """An observation, with its site and workflow."""

    site: str
    workflow: str
    observation: Observation


class Surplus(Struct, frozen=True):
    """How many observations of a category are to be removed."""

    site: str
    workflow: str
    category: str
    observations: int


class KeptWait(Struct, frozen=True):
    """How long a job waited in a site's queue, and when it was submitted.

    `run` is the uid of the job's run, empty for other users' jobs; `job` is its tag, or its id in the queue. Site, run
    and job together identify a wait.
    """

    run: str
    job: str
    partition: str  # empty: the site has only one, or chose it
    submitted_at: float
    wait: SeenWait


class History(ABC):
    """What was learned across runs; any number of runs may add to it at the same time.

    Everything belongs to a site: what was seen on one cluster is never an answer about another. Every change is one
    transaction, and writers take turns. A history that cannot be used raises a `SiteError`; if another run has been
    writing for longer than a run can wait, it raises a `HistoryBusyError`. No run stops for either.
    """

    # --- used by runs ---

    @abstractmethod
    def add(self, site: str, workflow: str, observations: Sequence[Observation]) -> None:
        """Add observations; those that are there already stay as they are."""

    @abstractmethod
    def newest(self, site: str, workflow: str, categories: Collection[str], most: int) -> list[Observation]:
        """The newest observations that sizers can learn from, at most `most` of each category; oldest first."""

    @abstractmethod
    def categories(self, site: str, workflow: str) -> list[str]:
        """The categories of a workflow that have observations."""

    @abstractmethod
    def add_waits(self, site: str, waits: Sequence[KeptWait]) -> None:
        """Add waits; those that are there already stay as they are."""

    @abstractmethod
    def newest_waits(self, site: str, most: int) -> list[KeptWait]:
        """The waits of the `most` jobs that were submitted last; oldest first."""

    @abstractmethod
    def state(self, site: str, name: str) -> State | None:
        """The state of a learner at a site; None if there is none that can be read."""

    @abstractmethod
    def update_state(self, site: str, name: str, change: Callable[[State | None], State]) -> State:
        """Replace a learner's state by what `change` makes of it, in one transaction, and return the new state.

        `change` must be quick, since other writers wait, and must not use the history; if it raises, nothing changes.
        """

    # --- used by commands for users ---

    @abstractmethod
    def figures(self, workflow: str | None = None, category: str | None = None) -> list[CategoryFigures]:
        """Summarise all categories, those of one workflow, or one category, at every site."""

    @abstractmethod
    def all(self, workflow: str | None = None, category: str | None = None, most: int | None = None) -> Iterator[Kept]:
        """All observations, those of one workflow, or of one category; category by category, the newest first.

        The history must not be used for anything else until the iterator is exhausted or closed.
        """

    @abstractmethod
    def surplus(
        self, workflow: str | None = None, ended_before: float | None = None, keep: int | None = None
    ) -> list[Surplus]:
        """Count what `remove` would remove."""

    @abstractmethod
    def remove(
        self, workflow: str | None = None, ended_before: float | None = None, keep: int | None = None
    ) -> list[Surplus]:
        """Remove observations that ended before a time and are not among the `keep` newest of their category."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect; the history must not be used any more."""


class HistoryBusyError(SiteError):
    """Another run has been writing for longer than we wait."""


class NoHistoryError(SiteError):
    """There is no history to read."""

    def __init__(self, where: str) -> None:
        super().__init__("there is no history here yet", where=where, todo="`headway run` begins one")
