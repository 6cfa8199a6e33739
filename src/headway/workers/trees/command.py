"""The request to `ProcessTrees`, and its answer."""

from __future__ import annotations

from msgspec import Struct

from headway.model.outcome import Ending, Usage
from headway.model.resources import Resources


class CommandSpec(Struct, frozen=True):
    """A command to run."""

    key: str  # unique, e.g. "r1/count[aa]/2"; its processes have HEADWAY_ATTEMPT=<key> in their environment
    argv: list[str]
    environment: dict[str, str]  # added to this process's own
    directory: str  # its working directory
    stdout: str  # files, overwritten; stdin is /dev/null
    stderr: str
    limits: Resources  # memory_bytes and disk_bytes 0: no limit; walltime_s None: no limit; cores are not enforced
    measured_directory: str | None = None  # the directory that its disk limit applies to
    grace_s: float = 5.0  # between SIGTERM and SIGKILL
    elsewhere: bool = False  # it has processes that it does not start itself: those of a container


class CommandEnd(Struct, frozen=True):
    """How a command ended. Times are seconds since the epoch."""

    started_at: float
    ended_at: float
    usage: Usage
    exit_code: int | None = None
    signal: int | None = None
    stopped_for: Ending | None = None  # MEMORY, TIME, DISK or CANCELLED, however its processes reacted
    launch_error: str = ""  # why it could not be started
