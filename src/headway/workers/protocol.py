"""The messages between manager and node supervisor: one JSON object a line.

Every message can be lost or repeated, so a repeated message must have no further effect. An attempt is claimed once, an
outcome is kept until it is acknowledged, and the state that matters is also on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.model.outcome import Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers.whole_file import write_whole


class Message(Struct, frozen=True, tag_field="say", omit_defaults=True):
    """A message; encoded as one line."""


class Start(Message, frozen=True, tag="start"):
    """To the supervisor: run an attempt in `directory`, whose creation claims the attempt."""

    task: Task
    attempt: int
    directory: str
    limits: Resources
    nodes: tuple[str, ...] = ()  # the batch system's names of its nodes, if it spans several
    ends_at: float | None = None  # when its job's walltime ends, if that is known
    held_bytes: int = 0  # the memory that is held for it; it may use up to its limit while the node has more
    node_bytes: int = 0  # the memory that all attempts on the node may use together


class Stop(Message, frozen=True, tag="stop"):
    """To the supervisor: stop an attempt."""

    task: str
    attempt: int


class Noted(Message, frozen=True, tag="noted"):
    """To the supervisor: these outcomes are in the journal, so they need not be repeated."""

    attempts: list[tuple[str, int]]


class Produced(Message, frozen=True, tag="produced"):
    """To the supervisor: tasks make these paths. Other files in the workflow's directory are linked for every task."""

    paths: list[str]


class Leave(Message, frozen=True, tag="leave"):
    """To the supervisor: end, there is no more work."""


class Hello(Message, frozen=True, tag="hello"):
    """To the manager: the first message on every connection."""

    node: str
    pid: int
    method: str
    reason: str


class Ended(Message, frozen=True, tag="ended"):
    """To the manager: an attempt ended. After a success its outputs are in the workflow's directory."""

    outcome: Outcome


class Trouble(Message, frozen=True, tag="trouble"):
    """To the manager: the node cannot run tasks, through no fault of a task."""

    what: str
    where: str


ToSupervisor = Start | Stop | Noted | Produced | Leave
ToManager = Hello | Ended | Trouble

# Long enough for a task with many thousands of inputs; a limit, so that a broken peer cannot fill the memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024

_ENCODER = msgspec.json.Encoder()
decode_from_manager: Callable[[bytes], ToSupervisor] = msgspec.json.Decoder(ToSupervisor).decode
decode_from_supervisor: Callable[[bytes], ToManager] = msgspec.json.Decoder(ToManager).decode


def encode(message: Message) -> bytes:
    """Encode a message as a line."""
    return _ENCODER.encode(message) + b"\n"


class SupervisorSettings(Struct, frozen=True):
    """What a supervisor must know when it starts; the file `order.json` in its folder."""

    uid: str
    tag: str
    node: str
    workflow_directory: str
    linger_s: float  # how long it waits without a manager and without work before it ends
    grace_s: float  # between SIGTERM and SIGKILL
    method: str = "auto"  # how it measures tasks

    @staticmethod
    def read(folder: Path) -> SupervisorSettings:
        """Read the settings that the manager wrote into this folder."""
        return msgspec.json.decode((folder / "order.json").read_bytes(), type=SupervisorSettings)

    def write(self, folder: Path) -> None:
        """Write the settings into this folder."""
        write_whole(folder / "order.json", _ENCODER.encode(self))


# Files in the supervisor's folder, which only its owner can enter.
SOCKET = "socket"
LOCK = "lock"  # held by the supervisor while it lives
STARTED = "started"  # created by the supervisor that took the job, and never removed
