"""The state of one task, one running attempt and one node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from headway.model.records import Figure, InputsRead
from headway.model.resources import Resources
from headway.model.task import Task


class Phase(IntEnum):
    """The phase of a task."""

    WAITING = 0  # for its parents
    READY = 1  # its files have not been read
    READING = 2  # its files are being read
    PLACEABLE = 3  # it only needs room on a node
    RUNNING = 4
    SUCCEEDED = 5
    FAILED = 6  # for good
    CUT_OFF = 7  # a task that it depends on failed, or it was withdrawn


class TaskState:
    """A task, its phase, and what its attempts have met with so far."""

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
        self.key: tuple[Any, ...] = ()  # its sort key in the ready queue
        self.phase = Phase.WAITING
        self.unfinished_parents = 0
        self.attempts = 0
        self.errors = 0  # failures that count against the user's retries
        self.expiries = 0  # attempts that ended with their allocation
        self.losses = 0  # attempts that ended with their node
        self.losses_alone = 0  # of those, attempts that were alone on their node
        self.exhausted: dict[str, list[float]] | None = None  # amounts that ran out, by resource
        self.running: Running | None = None
        self.inputs: InputsRead | None = None
        self.because = ""  # why the task has to run at all
        self.withdrawn = False  # its result is no longer wanted


class Running:
    """A running attempt."""

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
        self.nodes = nodes  # the nodes that it spans, with these resources on each
        self.shaken = False  # another of its nodes was lost: a failure now does not count against the task
        self.resources = resources
        self.ticket = ticket
        self.started_at = started_at
        self.being_killed = False
        self.waits = False  # it waits for other tasks, which may use its resources meanwhile

    @property
    def node(self) -> str:
        """The node whose supervisor runs the command."""
        return self.nodes[0]


class NodeState:
    """A node of a live allocation."""

    __slots__ = ("capacity", "free", "name", "only", "running", "tag", "until")

    def __init__(
        self, name: str, tag: str, capacity: Resources, only: Mapping[str, int] | None = None, until: float = math.inf
    ) -> None:
        self.name = name
        self.tag = tag
        self.only = only or {}  # the tasks that may run here, with their sequence; empty: any task
        self.until = until  # when its allocation ends
        self.capacity = capacity
        self.free = capacity
        self.running: set[str] = set()
