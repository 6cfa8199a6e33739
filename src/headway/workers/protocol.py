"""What manager and node supervisor say to each other: one JSON object a line, over a unix socket.

Every message may be lost and may be repeated; none may do harm twice. A launch is claimed once, an outcome is kept
until it is acknowledged, and all that matters is also on disk.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from headway.model.outcome import Outcome
from headway.model.resources import Resources
from headway.model.task import Task


class Message(Struct, frozen=True, tag_field="say", omit_defaults=True):
    """One line."""


class Start(Message, frozen=True, tag="start"):
    """Run an attempt, in a directory that is created to claim it."""

    task: Task
    attempt: int
    directory: str
    limits: Resources
    nodes: tuple[str, ...] = ()  # those it spans, as the batch system calls them, if there are several
    ends_at: float | None = None  # when its job is over, if that is known


class Stop(Message, frozen=True, tag="stop"):
    """Stop an attempt."""

    task: str
    attempt: int


class Noted(Message, frozen=True, tag="noted"):
    """These outcomes are in the journal; no need to remember them."""

    attempts: list[tuple[str, int]]


class Produced(Message, frozen=True, tag="produced"):
    """Paths that tasks of this workflow make: everything else in its directory is everybody's input."""

    paths: list[str]


class Leave(Message, frozen=True, tag="leave"):
    """No more work: end."""


class Hello(Message, frozen=True, tag="hello"):
    """A supervisor introduces itself to a manager that just connected."""

    node: str
    pid: int
    method: str
    reason: str


class Ended(Message, frozen=True, tag="ended"):
    """An attempt ended; if it succeeded, its outputs are in their place."""

    outcome: Outcome


class Trouble(Message, frozen=True, tag="trouble"):
    """The node cannot go on, and no task is to blame."""

    what: str
    where: str


ToSupervisor = Start | Stop | Noted | Produced | Leave
ToManager = Hello | Ended | Trouble

# A line may hold a task with thousands of inputs, but not everything a broken peer can send.
LONGEST_LINE_BYTES = 64 * 1024 * 1024

_ENCODER = msgspec.json.Encoder()
_FROM_MANAGER: msgspec.json.Decoder[ToSupervisor] = msgspec.json.Decoder(ToSupervisor)
_FROM_SUPERVISOR: msgspec.json.Decoder[ToManager] = msgspec.json.Decoder(ToManager)


def encode(message: Message) -> bytes:
    """The message as a line."""
    return _ENCODER.encode(message) + b"\n"


def decode_from_manager(line: bytes) -> ToSupervisor:
    """What a manager said."""
    return _FROM_MANAGER.decode(line)


def decode_from_supervisor(line: bytes) -> ToManager:
    """What a supervisor said."""
    return _FROM_SUPERVISOR.decode(line)


class SupervisorSettings(Struct, frozen=True):
    """What a supervisor must know when it starts; `order.json` in its job folder."""

    uid: str
    tag: str
    node: str
    workflow_directory: str
    linger_s: float  # how long to stay without a manager and without work
    grace_s: float  # between SIGTERM and SIGKILL
    method: str = "auto"  # how tasks are measured

    @staticmethod
    def read(folder: Path) -> SupervisorSettings:
        """The order that the manager left in the job's folder."""
        return msgspec.json.decode((folder / "order.json").read_bytes(), type=SupervisorSettings)

    def write(self, folder: Path) -> None:
        """Leave the order in the job's folder."""
        temporary = folder / "order.json.new"
        temporary.write_bytes(_ENCODER.encode(self))
        temporary.rename(folder / "order.json")


SOCKET = "socket"  # in the job's folder, which only its owner can enter
LOCK = "lock"  # held by the supervisor while it lives
STARTED = "started"  # left by the supervisor that took the job
