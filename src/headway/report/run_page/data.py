"""What the page of a run shows, as its script reads it: times are seconds after the run's start.

Tasks and attempts are columns, since a list of numbers is far shorter in JSON than a list of objects.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field, to_builtins


class Tile(Struct, frozen=True):
    """A figure in large print, what it is, and what else is to be said."""

    value: str
    name: str
    note: str = ""


class Job(Struct):
    """A job of the batch system; of a local run, the machine."""

    name: str
    asks: str
    submitted: float
    ready: (
        float | None
    )  # since when it waits: its submission, or later the end of the job that it follows; None: not yet
    started: float | None = None
    ended: float | None = None
    expected_wait: float | None = None
    why: str = ""


class Node(Struct, frozen=True):
    """A node and its job."""

    name: str
    job: int


class Attempts(Struct):
    """Columns: one entry for each attempt, in the order of their starts."""

    task: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    end: list[float | None] = field(default_factory=list)  # None: it runs
    ending: list[int] = field(default_factory=list)  # in `endings`
    cores: list[float] = field(default_factory=list)
    busy: list[float | None] = field(default_factory=list)  # cores, on average
    given: list[float] = field(default_factory=list)  # memory, in MB
    used: list[float | None] = field(default_factory=list)
    time: list[float | None] = field(default_factory=list)  # the run time that it may take; None: any


class Tasks(Struct):
    """Columns: one entry for each task, in the order in which they were added."""

    id: list[str] = field(default_factory=list)
    category: list[int] = field(default_factory=list)
    state: list[int] = field(default_factory=list)  # in `states`
    ready: list[float | None] = field(default_factory=list)


class Category(Struct):
    """A category: its tasks by state, and the memory in MB, cores and run time that its tasks asked for themselves."""

    name: str
    colour: str
    tasks: int
    done: int
    failed: int
    retries: int
    hint: float | None = None
    hint_cores: float | None = None
    hint_time: float | None = None


class Failed(Struct, frozen=True):
    """A task that failed for good, and the last lines that it wrote."""

    task: str
    said: str
    lines: list[str]


class Said(Struct, frozen=True):
    """A decision and its reason."""

    at: float
    kind: str
    about: str
    why: str


class PageData(Struct):
    """All that the page shows."""

    title: str
    headline: str
    state: str
    begun_at: float  # seconds since 1970
    until: float  # the run's end or, while it goes on, when this was read
    tiles: list[Tile] = field(default_factory=list)
    categories: list[Category] = field(default_factory=list)
    queued: bool = False  # whether jobs wait in a queue
    states: list[str] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    tasks: Tasks = field(default_factory=Tasks)
    attempts: Attempts = field(default_factory=Attempts)
    failures: list[Failed] = field(default_factory=list)
    decisions: list[Said] = field(default_factory=list)
    decisions_left_out: int = 0
    settings: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """The data as the page's script and `headway report --json` have them."""
        document: dict[str, Any] = to_builtins(self)
        return document
