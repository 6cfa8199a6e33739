"""The messages between manager and node supervisor: one JSON object a line.

Every message can be lost or repeated, so a repeated message must have no further effect. An attempt is claimed once, an
outcome is kept until it is acknowledged, and the state that matters is also on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from headway.model.coming import Coming
from headway.model.devices import Device
from headway.model.outcome import Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers.whole_file import write_whole

Said = TypeVar("Said")


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
    held: Resources | None = None  # what is held for it, if it may use more while the node has more
    node_bytes: int = 0  # the memory that all attempts on the node may use together
    expiries: int = 0  # earlier attempts at the task that ended with their allocation
    devices: tuple[str, ...] = ()  # the GPUs that it may use, by id
    # Outputs that earlier runs made: a task in the workflow's directory must not find them, a directory may give way.
    stale: tuple[str, ...] = ()

    @property
    def held_bytes(self) -> int:
        """The memory that is held for it, where its limit is higher; otherwise 0."""
        return self.held.memory_bytes if self.held is not None else 0


class Stop(Message, frozen=True, tag="stop"):
    """To the supervisor: stop an attempt."""

    task: str
    attempt: int


class Signal(Message, frozen=True, tag="signal"):
    """To the supervisor: send a signal to the processes of an attempt, which may end by it or not."""

    task: str
    attempt: int
    number: int


class GiveNotice(Message, frozen=True, tag="give-notice"):
    """To the supervisor: tell an attempt to save its checkpoint and end, before its time is up."""

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


class Silent(Message, frozen=True, tag="silent"):
    """To the supervisor, from its relay: the manager gave no sign of life for so long, and its connection ends."""

    for_s: float


class Hello(Message, frozen=True, tag="hello"):
    """To the manager: the first message on every connection."""

    node: str
    pid: int
    method: str
    reason: str
    devices: tuple[Device, ...] = ()  # the node's GPUs, as far as they are known


class Ended(Message, frozen=True, tag="ended"):
    """To the manager: an attempt ended. After a success its outputs are in the workflow's directory."""

    outcome: Outcome


class Trouble(Message, frozen=True, tag="trouble"):
    """To the manager: the node cannot run tasks, through no fault of a task."""

    what: str
    where: str
    todo: str = ""  # empty: make room or mend it
    disk_full: bool = False


ToSupervisor = Start | Stop | Signal | GiveNotice | Noted | Produced | Leave | Silent


# --- between a run's manager and a pool, which is to it what a supervisor is, and more ---


class Join(Message, frozen=True, tag="join"):
    """To the pool: the first message of a run's manager."""

    run: str  # its uid
    name: str
    directory: str
    number: str
    home: str  # the file that tells supervisors of the run
    user: str = ""


class Ask(Message, frozen=True, tag="ask"):
    """To the pool: answer with a `Told`."""


class Withdraw(Message, frozen=True, tag="withdraw"):
    """To the pool: stop all that was asked for by a run whose manager is gone, and answer when nothing of it runs."""

    run: str


class Drain(Message, frozen=True, tag="drain"):
    """To the pool: take no more workflows, and end when the last has ended, or `now`."""

    now: bool = False


class Lost(Message, frozen=True, tag="lost"):
    """To the manager: an attempt was lost with its node, and left no result."""

    task: str
    attempt: int
    message: str = ""
    expired: bool = False  # its allocation reached its walltime
    excused: bool = False  # the batch system or a user ended its job
    alone: bool = False  # nothing else was running there


class Room(Message, frozen=True, tag="room"):
    """To the manager: so much may be handed to the pool at a time."""

    room: Resources


class Refused(Message, frozen=True, tag="refused"):
    """To the manager: the pool does not take the run, in a sentence."""

    what: str


class Foreseen(Message, frozen=True, tag="foreseen"):
    """To the pool: what the run will hand over later, in place of what it said before."""

    coming: list[Coming]


class Member(Struct, frozen=True):
    """A workflow that uses a pool."""

    run: str
    name: str
    directory: str
    number: str
    user: str
    connected: bool  # whether its manager is at work
    waiting: int
    running: int
    held: Resources  # by what is running


class Told(Message, frozen=True, tag="told"):
    """The pool's answer: what one task can get, what the pool holds, and who uses what."""

    pid: int
    run: str
    cluster: str
    limits: Resources
    larger: tuple[Resources, ...]
    lends: bool
    room: Resources
    nodes: int
    has: Resources  # all nodes together
    draining: bool
    members: list[Member]


ToManager = Hello | Ended | Trouble | Lost | Room | Refused | Told
ToPool = Join | Ask | Withdraw | Drain | Start | Stop | Signal | Noted | Produced | Leave | Foreseen

# Long enough for a task with many thousands of inputs; a limit, so that a broken peer cannot fill the memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024

_ENCODER = msgspec.json.Encoder()


def _reader(decoder: msgspec.json.Decoder[Said]) -> Callable[[bytes], Said]:
    """Return a function that reads a message, and raises a MsgspecError for whatever else."""

    def read(line: bytes) -> Said:
        try:
            return decoder.decode(line)
        except (UnicodeDecodeError, RecursionError) as error:
            raise msgspec.DecodeError(f"this is no message: {error}") from error

    return read


decode_from_manager: Callable[[bytes], ToSupervisor] = _reader(msgspec.json.Decoder(ToSupervisor))
decode_to_pool: Callable[[bytes], ToPool] = _reader(msgspec.json.Decoder(ToPool))
decode_from_supervisor: Callable[[bytes], ToManager] = _reader(msgspec.json.Decoder(ToManager))


def encode(message: Message) -> bytes:
    """Encode a message as a line."""
    return _ENCODER.encode(message) + b"\n"


class SupervisorSettings(Struct, frozen=True):
    """What a supervisor must know when it starts; the file `order.json` in its folder."""

    uid: str
    tag: str
    node: str
    workflow_directory: str
    linger_s: float  # how long it waits without a sign of a manager and without work before it ends
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
