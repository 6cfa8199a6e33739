"""What a history keeps, and the errors of using one."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

from msgspec import Struct

from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.outcome import Ending
from headway.model.records import SeenWait

State = dict[str, Any]  # what JSON can hold


def state_suffix(workflow: str, project: str) -> str:
    """The end of the names of states that belong to a workflow of a project."""
    return f"/{workflow}/{project}" if project else f"/{workflow}"


class Kept(Struct, frozen=True):
    """An observation, with its site, workflow and project."""

    site: str
    workflow: str
    observation: Observation
    project: str = ""


class Surplus(Struct, frozen=True):
    """How many observations of a category are to be removed."""

    site: str
    workflow: str
    category: str
    observations: int
    project: str = ""
    directory: str = ""


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


# --- figures ---


class Spread(Struct, frozen=True):
    """Median and maximum of several values."""

    median: float
    most: float


class CategoryFigures(Struct, frozen=True):
    """How many attempts of a category were observed, how many failed, and what the successful ones used.

    `directory` is where the project ran last; both are empty if the attempts are older than projects.
    """

    site: str
    workflow: str
    category: str
    observations: int
    failures: int
    newest_at: float
    memory_bytes: Spread | None
    run_s: Spread | None
    project: str = ""
    directory: str = ""


Seen = tuple[str, float, float, float | None]  # ending, started, ended, peak of memory


class Key(NamedTuple):
    """The observations of a category of a project; `number` is the id of the category."""

    number: int
    site: str
    workflow: str
    category: str
    project: str
    directory: str


def figures_of(key: Key, seen: Iterable[Seen]) -> CategoryFigures | None:
    """Summarise a category's observations; None if there are none.

    Of each only two numbers are held: a category may have millions.
    """
    observations, newest_at = 0, -math.inf
    memory_bytes, run_s = array("d"), array("d")
    for ending, started_at, ended_at, peak in seen:
        observations += 1
        newest_at = max(newest_at, ended_at)
        if ending == Ending.SUCCESS:
            run_s.append(max(0.0, ended_at - started_at))
            if peak is not None:
                memory_bytes.append(peak)
    if not observations:
        return None
    return CategoryFigures(
        key.site,
        key.workflow,
        key.category,
        observations=observations,
        failures=observations - len(run_s),
        newest_at=newest_at,
        memory_bytes=_spread(memory_bytes),
        run_s=_spread(run_s),
        project=key.project,
        directory=key.directory,
    )


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), max(values)) if values else None
