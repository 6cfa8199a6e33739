"""The messages between a service and its clients: one JSON object a line, over a unix socket.

A client begins with `hello`. Requests have a field `do`, the service's messages a field `event`. docs/service.md
describes them for people who write clients; `VERSION` grows when a client of before would misunderstand something.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct, field

from headway.model.errors import InputError

VERSION = 1
LONGEST_LINE_BYTES = 16 * 1024 * 1024  # a limit, so that a broken client cannot fill the memory


class Request(Struct, frozen=True, tag_field="do", tag=str.lower):
    """A message to the service. `id` is the client's own; answers to the request repeat it."""

    id: str | int | None = field(default=None, name="id")


class Hello(Request, frozen=True, kw_only=True):
    """The first message of a client."""

    version: int


class Wanted(Request, frozen=True, kw_only=True):
    """What a command is, as far as its size depends on it. Amounts are numbers, or texts with a unit.

    `wish` says in which jobs of a cluster it may run, by the keys of a workflow file (`partition`, `account`, …);
    `sbatch` has options of sbatch that say the same. On one machine neither has an effect.
    """

    category: str = ""
    hints: dict[str, float | str] = {}
    limits: dict[str, float | str] = {}
    input_bytes: int | None = None
    malleable: bool = False  # it uses as many cores as it is given
    wish: dict[str, str] = {}
    sbatch: str = ""


class Quote(Wanted, frozen=True, kw_only=True):
    """Ask what a command would be given; the same `quote` always gets the same answer.

    `failures` are the amounts that were not enough for earlier attempts of the client's own, by resource. A command
    that the client will run `elsewhere` has no other limits than those that are stated here.
    """

    quote: str
    failures: dict[str, list[float]] = {}
    elsewhere: bool = False


class Submit(Wanted, frozen=True, kw_only=True):
    """Run a command: `argv`, or `script` for /bin/sh. Sent again with the same `key`, it is the same command.

    `environment` is all of it; None leaves the service's own. `attempt`, `stdout` and `stderr` say what a client that
    was connected before has already: bytes of that attempt's output.
    """

    argv: list[str] = []
    script: str = ""
    name: str = ""
    key: str = ""
    quote: str = ""
    directory: str = ""
    environment: dict[str, str] | None = None
    stdin: str = ""
    priority: float = 0
    retries: int = 0
    on_exhausted: Literal["retry", "return"] = "retry"
    keep: bool = False
    output: bool = True
    attempt: int = 0
    stdout: int = 0
    stderr: int = 0


class Report(Request, frozen=True, kw_only=True):
    """Learn from a task that the client ran elsewhere: `record` is Nextflow's record of it, by column of a trace."""

    record: dict[str, str | float | int | None]
    hints: dict[str, float | str] = {}
    input_bytes: int | None = None


class Signal(Request, frozen=True, kw_only=True):
    """Send a signal to a command's processes; one that has not started is cancelled by a signal that ends programs."""

    task: str
    signal: int


class Cancel(Request, frozen=True, kw_only=True):
    """Stop a command, or do not start it."""

    task: str


class Status(Request, frozen=True):
    """Ask how many commands wait, run and have ended."""


class Stop(Request, frozen=True):
    """Take no more commands; the service ends when the last has ended."""


class Event(Struct, frozen=True, tag_field="event", tag=str.lower, omit_defaults=True):
    """A message to a client. `id` is that of the request that it belongs to."""

    id: str | int | None = field(default=None, name="id")


class Welcome(Event, frozen=True, kw_only=True, tag="hello"):
    """The answer to `hello`."""

    version: int
    run: str
    pid: int
    in_jobs: bool = False  # of a cluster, so that it is good to submit early all that can run


class Quoted(Event, frozen=True, kw_only=True):
    """What a command that is submitted with this quote gets, exactly."""

    quote: str
    amounts: dict[str, float]


class Submitted(Event, frozen=True, kw_only=True):
    """The command is in the journal: from now on it is not lost, and its task's name is known."""

    task: str


class Started(Event, frozen=True, kw_only=True):
    """An attempt at the command starts."""

    task: str
    attempt: int
    node: str
    cores: float
    memory_bytes: int


class Output(Event, frozen=True, kw_only=True):
    """Bytes that the command wrote to `stdout` or `stderr`, in base64."""

    task: str
    stream: Literal["stdout", "stderr"]
    data: str


class Ended(Event, frozen=True, kw_only=True):
    """The command is over. `cause` says how its last attempt ended; `exit_code` is what a shell would say."""

    task: str
    exit_code: int
    cause: str
    message: str = ""
    attempts: int = 0
    memory_bytes: float | None = None
    wall_s: float | None = None
    cpu_s: float | None = None


class Counts(Event, frozen=True, kw_only=True, tag="status"):
    """The answer to `status`."""

    run: str
    waiting: int
    running: int
    ended: int


class Stopping(Event, frozen=True):
    """The answer to `stop`, and what a client hears whose command the service cannot end any more."""

    message: str = ""


class Remark(Event, frozen=True, kw_only=True):
    """A sentence for the user: something that was asked for has no effect. Each client hears it once."""

    message: str


class Error(Event, frozen=True, kw_only=True):
    """A request that the service does not understand or cannot fulfil, in a sentence."""

    message: str


Requests = Hello | Quote | Submit | Report | Signal | Cancel | Status | Stop
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Requests] = msgspec.json.Decoder(Requests)


def decode(line: bytes) -> Requests:
    """Read a request; an InputError if it is none."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"this message is not understood: {' '.join(str(error).split())}") from error


def encode(message: Request | Event) -> bytes:
    """Encode a message as a line."""
    return _ENCODER.encode(message) + b"\n"
