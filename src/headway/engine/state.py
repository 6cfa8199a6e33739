"""The state of one task, one running attempt and one node."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import Any

from msgspec import Struct, structs

from headway.model.devices import Device
from headway.model.job import Wish
from headway.model.outcome import Stamp
from headway.model.records import Figure
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
    CUT_OFF = 7  # a task that it depends on failed, or it was withdrawn or handed back


# Tasks that are planned together: of one wish, between other tasks. The number counts how often the wish changes on
# the way to a task, so that a job need not wait idle until tasks in other jobs have made its own tasks ready.
Part = tuple[Wish | None, int]


class TaskState(Struct, eq=False):
    """A task, its phase, and what its attempts have met with so far."""

    task: Task
    key: tuple[Any, ...] = ()  # its sort key in the ready queue
    phase: Phase = Phase.WAITING
    part: Part = (None, 0)
    unfinished_parents: int = 0
    attempts: int = 0
    errors: int = 0  # failures that count against the user's retries
    expiries: int = 0  # attempts that ended with their allocation
    saved_s: float = 0.0  # how long the attempts ran from whose checkpoints it goes on
    left_until: float = -math.inf  # when the job ends that it left since that is near
    losses: int = 0  # attempts that ended with their node
    losses_alone: int = 0  # of those, attempts that were alone on their node
    quick_deaths: int = 0  # of supervisors on one machine, in a row, each soon after its last attempt had started
    exhausted: dict[str, list[float]] | None = None  # amounts that ran out, by resource
    gpu_bytes_lacked: int = 0  # the memory of GPUs that were too small for it
    running: Running | None = None
    inputs: Mapping[str, Stamp] = {}  # size and time of its inputs when they were read
    stale: tuple[str, ...] = ()  # outputs that earlier runs made, unless its result stands
    because: str = ""  # why the task has to run at all
    withdrawn: bool = False  # its result is no longer wanted
    gone: frozenset[str] = frozenset()  # its temporary outputs that do not exist
    reread: bool = False  # its files were read again, since a temporary one was made meanwhile
    shown: tuple[str, ...] = ()  # what its last attempt saw besides its inputs, in a check of the inputs
    remade_for: str = ""  # the task that reads them and has to run, although this one's result stands

    @property
    def handed_back(self) -> bool:
        """Whether an attempt ran out of something, and the program that added the task sees to that itself."""
        return bool(self.exhausted) and self.task.terms.on_exhausted == "return"

    @property
    def attempted(self) -> Task:
        """The task as it is run: only what is gone is made, so that no other reader finds its files replaced."""
        task = structs.replace(self.task, shown=self.shown) if self.shown else self.task
        if not self.remade_for or not task.isolated:
            return task
        gone = tuple(path for path in task.outputs if path in self.gone)
        # The command writes its other outputs, too, where they need a folder.
        folders = sorted({path.rpartition("/")[0] for path in task.outputs if "/" in path})
        return structs.replace(task, outputs=gone, folders=tuple(folders))


class Running(Struct, eq=False):
    """A running attempt."""

    attempt: int
    nodes: tuple[str, ...]  # the nodes that it spans, with these resources on each
    resources: Resources  # what is held for it
    ceiling: Resources  # what it may use
    ticket: dict[str, Figure]
    launched_at: float = 0.0
    shaken: bool = False  # another of its nodes was lost: a failure now does not count against the task
    being_killed: bool = False
    noticed: bool = False  # it was told to save its checkpoint and end
    waits: bool = False  # it waits for other tasks, which may use its resources meanwhile
    devices: tuple[str, ...] = ()  # the GPUs that it holds, by id, where they are known

    @property
    def node(self) -> str:
        """The node whose supervisor runs the command."""
        return self.nodes[0]


class NodeState(Struct, eq=False):
    """A node of a live allocation."""

    name: str
    tag: str
    free: Resources
    capacity: Resources
    only: Mapping[str, int] = {}  # the tasks that may run here, with their sequence; empty: any task
    meant_for: Collection[str] = ()  # tasks that its job was submitted for, though any may run here; empty: all
    until: float = math.inf  # when its allocation ends
    running: set[str] = set()
    keeps_job: bool = False  # as in `NodeUp`
    devices: Mapping[str, Device] = {}  # its GPUs by id; empty where only their number is known
    free_devices: Mapping[str, float] = {}  # how much of each is free
