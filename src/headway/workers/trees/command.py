"""What is asked of `ProcessTrees`, and what it answers."""

from __future__ import annotations

from msgspec import Struct

from headway.model.outcome import Ending, Usage
from headway.model.resources import Resources


class CommandSpec(Struct, frozen=True):
    """A command to run."""

    key: str  # unique, e.g. "r1/count[aa]/2"; every process of it carries HEADWAY_ATTEMPT=<key> in its environment
    argv: list[str]
    environment: dict[str, str]  # on top of this process's own
    directory: str  # where it starts
    stdout: str  # files, made anew; stdin is /dev/null
    stderr: str
    limits: Resources  # memory_bytes and disk_bytes 0: no limit; walltime_s None: no limit; cores are not enforced
    measured_directory: str | None = None  # what its disk limit is about
    grace_s: float = 5.0  # between being asked to end and being killed


class CommandEnd(Struct, frozen=True):
    """How a command ended. Times are seconds since the epoch."""

    started_at: float
    ended_at: float
    usage: Usage
    exit_code: int | None = None
    signal: int | None = None
    stopped_for: Ending | None = None  # MEMORY, TIME, DISK, CANCELLED: whatever it made of that itself
    launch_error: str = ""  # why it could not be started
