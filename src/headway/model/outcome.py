"""`Outcome`: how one attempt at a task ended, and what it used."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Quality(StrEnum):
    """How far a measured figure can be trusted."""

    EXACT = "exact"
    SAMPLED = "sampled"  # seen by polling: a short peak between two looks may have been higher
    LOWER_BOUND = "lower-bound"  # the attempt was stopped; it would have used more
    UPPER_BOUND = "upper-bound"  # counts something that need not be held, such as page cache


class Measured(Struct, frozen=True, array_like=True, gc=False):
    """A figure and its quality."""

    value: float
    quality: Quality


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """What an attempt used; None where nothing could be measured.

    Memory is anonymous and shared memory of the whole process tree, what would get it killed, without page cache.
    """

    wall_s: Measured | None = None
    cpu_s: Measured | None = None
    memory_bytes: Measured | None = None
    disk_bytes: Measured | None = None
    cores_peak: Measured | None = None
    cores_average: Measured | None = None
    method: str = ""  # how it was measured: cgroup-v1, cgroup-v2 or polling

    def peak(self, resource: str) -> Measured | None:
        """The figure that compares with an allocation of `resource`."""
        names = {"walltime_s": "wall_s", "cores": "cores_peak"}
        found = getattr(self, names.get(resource, resource), None)
        return found if isinstance(found, Measured) else None


class Ending(StrEnum):
    """How an attempt ended."""

    SUCCESS = "success"
    MEMORY = "memory"
    TIME = "time"
    DISK = "disk"
    CORES = "cores"  # where a site ends what keeps more cores busy than it was given
    EXIT_CODE = "exit-code"
    SIGNAL = "signal"
    MISSING_INPUT = "missing-input"
    MISSING_OUTPUT = "missing-output"
    LAUNCH_FAILED = "launch-failed"
    NODE_LOST = "node-lost"
    PREEMPTED = "preempted"
    SAVED = "saved"  # after the notice it had asked for: it goes on from what it saved, when it runs again
    CANCELLED = "cancelled"

    @property
    def exhausted(self) -> str | None:
        """The resource that ran out, if one did: worth a retry with more of it."""
        return _EXHAUSTED.get(self)

    @property
    def blameless(self) -> bool:
        """Whether the task had no part in it: such an end never counts against the task."""
        return self in (Ending.NODE_LOST, Ending.PREEMPTED, Ending.CANCELLED, Ending.SAVED)


_EXHAUSTED = {
    Ending.MEMORY: "memory_bytes",
    Ending.TIME: "walltime_s",
    Ending.DISK: "disk_bytes",
    Ending.CORES: "cores",
}


class Stamp(Struct, frozen=True, array_like=True, gc=False):
    """What a file looked like; a directory's size is the sum of its files', its time the newest of theirs."""

    size_bytes: int
    modified_ns: int


class Outcome(Struct, frozen=True, omit_defaults=True, gc=False):
    """How attempt number `attempt` of a task ended. Times are seconds since the epoch, or virtual in simulation."""

    task: str
    attempt: int
    ending: Ending
    started_at: float
    ended_at: float
    usage: Usage = Usage()
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""  # one sentence for people
    outputs: dict[str, Stamp] = {}  # what each declared output looked like after a success
