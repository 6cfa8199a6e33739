"""What a history keeps, and the errors of using one."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

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


class HistoryBusyError(SiteError):
    """Another run has been writing for longer than we wait."""


class NoHistoryError(SiteError):
    """There is no history to read."""

    def __init__(self, where: str) -> None:
        super().__init__("there is no history here yet", where=where, todo="`headway run` begins one")
