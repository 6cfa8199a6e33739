"""What the engine knows of each task, each node and each job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from headway.model.records import Figure, InputsRead
from headway.model.resources import Resources
from headway.model.task import Task


class Phase(IntEnum):
    """Where a task is."""

    WAITING = 0  # for its parents
    READY = 1  # its files have not been looked at
    READING = 2  # somebody is looking
    PLACEABLE = 3  # only needs room
    RUNNING = 4
    SUCCEEDED = 5
    FAILED = 6  # for good
    CUT_OFF = 7  # something it depends on failed, or nobody wants it any more


class TaskState:
    """One task's life so far."""

    __slots__ = (
        "attempts",
        "because",
        "errors",
        "exhausted",
        "expiries",
        "inputs",
        "key",
        "losses",
        "losses_alone",
        "phase",
        "running",
        "task",
        "unfinished_parents",
        "withdrawn",
    )

    def __init__(self, task: Task) -> None:
        self.task = task
        self.key: tuple[Any, ...] = ()  # by which it stands in line, once it is ready
        self.phase = Phase.WAITING
        self.unfinished_parents = 0
        self.attempts = 0
        self.errors = 0  # failures that the user's retry count is for
        self.expiries = 0  # attempts that ended with their allocation
        self.losses = 0  # attempts that ended with their node
        self.losses_alone = 0  # those of them that had the node for themselves
        self.exhausted: dict[str, list[float]] | None = None  # amounts that ran out, by resource
        self.running: Running | None = None
        self.inputs: InputsRead | None = None
        self.because = ""  # why it runs at all
        self.withdrawn = False  # nobody wants its result any more


class Running:
    """An attempt under way."""

    __slots__ = ("attempt", "being_killed", "nodes", "resources", "shaken", "started_at", "ticket", "waits")

    def __init__(
        self,
        attempt: int,
        nodes: tuple[str, ...],
        resources: Resources,
        ticket: dict[str, Figure],
        started_at: float,
    ) -> None:
        self.attempt = attempt
        self.nodes = nodes  # that it spans, with these resources on each
        self.shaken = False  # one of the others was lost: if it fails now, that is why
        self.resources = resources
        self.ticket = ticket
        self.started_at = started_at
        self.being_killed = False
        self.waits = False  # for other tasks, which may have its resources meanwhile

    @property
    def node(self) -> str:
        """Whose supervisor runs the command."""
        return self.nodes[0]


class NodeState:
    """A node of a live allocation."""

    __slots__ = ("capacity", "free", "name", "only", "running", "tag", "until")

    def __init__(
        self, name: str, tag: str, capacity: Resources, only: Mapping[str, int] | None = None, until: float = math.inf
    ) -> None:
        self.name = name
        self.tag = tag
        self.only = only or {}  # the tasks that may run here, and which of them goes first; none: anybody
        self.until = until  # when its allocation ends
        self.capacity = capacity
        self.free = capacity
        self.running: set[str] = set()
