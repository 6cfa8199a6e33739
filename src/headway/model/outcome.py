"""`Outcome`: how one attempt at a task ended, and what it used."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, structs


class Quality(StrEnum):
    """How far a measured figure can be trusted."""

    EXACT = "exact"
    SAMPLED = "sampled"  # by polling: a short peak between two samples may have been higher
    LOWER_BOUND = "lower-bound"  # the attempt was stopped; it would have used more
    UPPER_BOUND = "upper-bound"  # includes memory that need not be held, such as page cache


class Measured(Struct, frozen=True, array_like=True, gc=False):
    """A figure and its quality."""

    value: float
    quality: Quality


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """What an attempt used; None where nothing could be measured.

    Memory is anonymous and shared memory of the whole process tree, without page cache: what counts towards its limit.
    """

    wall_s: Measured | None = None
    cpu_s: Measured | None = None
    memory_bytes: Measured | None = None
    disk_bytes: Measured | None = None
    cores_peak: Measured | None = None
    cores_average: Measured | None = None
    method: str = ""  # how it was measured: cgroup-v1, cgroup-v2 or polling
    gpu_memory_bytes: Measured | None = None  # on all its GPUs together; 0: it never used one
    gpus_average: Measured | None = None  # how many GPUs it kept busy

    def peak(self, resource: str) -> Measured | None:
        """The peak to compare with the allocated amount of `resource`."""
        names = {"walltime_s": "wall_s", "cores": "cores_peak"}
        found = getattr(self, names.get(resource, resource), None)
        return found if isinstance(found, Measured) else None


class Ending(StrEnum):
    """How an attempt ended."""

    SUCCESS = "success"
    MEMORY = "memory"
    TIME = "time"
    DISK = "disk"
    CORES = "cores"  # at sites that kill processes which use more cores than they were given
    GPU_MEMORY = "gpu-memory"  # by its own words
    EXIT_CODE = "exit-code"
    SIGNAL = "signal"
    MISSING_INPUT = "missing-input"
    MISSING_OUTPUT = "missing-output"
    LAUNCH_FAILED = "launch-failed"
    NODE_LOST = "node-lost"
    PREEMPTED = "preempted"
    SAVED = "saved"  # after the notice that the task asked for: its next attempt continues from its checkpoint
    CANCELLED = "cancelled"

    @property
    def exhausted(self) -> str | None:
        """The resource that ran out, if one did: worth a retry with more of it."""
        return _EXHAUSTED.get(self)

    @property
    def blameless(self) -> bool:
        """Whether the task did not cause it: such an ending never counts against the task."""
        return self in (Ending.NODE_LOST, Ending.PREEMPTED, Ending.CANCELLED, Ending.SAVED)


_EXHAUSTED = {
    Ending.MEMORY: "memory_bytes",
    Ending.TIME: "walltime_s",
    Ending.DISK: "disk_bytes",
    Ending.CORES: "cores",
}


class Stamp(Struct, frozen=True, array_like=True, gc=False):
    """Size, times and content of a file; for a directory, the sum of its files' sizes and the newest times in it.

    `digest` is empty where the content was not read. `inside` has the digests of a directory's files by their paths in
    it; it is empty if there are too many of them. `changed_ns` is the time of the last change of the content, the name
    or the mode, which no program can set; 0 if it was not recorded.
    """

    size_bytes: int
    modified_ns: int
    digest: str = ""
    inside: dict[str, str] = {}
    changed_ns: int = 0

    def holds_same(self, other: Stamp) -> bool:
        """Whether both have the same content: by their digests or, where one was not read, by their sizes and times."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return self.is_as(other)

    def is_among(self, others: Iterable[Stamp]) -> bool:
        """Whether one of the others has the same content."""
        return any(self.holds_same(other) for other in others)

    def is_as(self, other: Stamp) -> bool:
        """Whether nothing has touched the file between the two looks at it."""
        if (self.size_bytes, self.modified_ns) != (other.size_bytes, other.modified_ns):
            return False
        return not self.changed_ns or not other.changed_ns or self.changed_ns == other.changed_ns


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
    outputs: dict[str, Stamp] = {}  # each declared output after a success
    unseen: tuple[str, ...] = ()  # what a strict task looked for in the workflow's directory, besides its inputs

    def after(self, saved_s: float) -> Outcome:
        """The outcome as if one attempt had run all the time: this one went on from a checkpoint after so many seconds.

        >>> ended = Outcome("t", 3, Ending.SUCCESS, 1000.0, 1300.0, Usage(wall_s=Measured(300.0, Quality.EXACT)))
        >>> ended.after(1200.0).started_at, ended.after(1200.0).usage.wall_s.value
        (-200.0, 1500.0)
        """
        if not saved_s:
            return self
        wall = self.usage.wall_s
        usage = self.usage if wall is None else structs.replace(self.usage, wall_s=_longer(wall, saved_s))
        return structs.replace(self, started_at=self.started_at - saved_s, usage=usage)


def _longer(wall: Measured, by_s: float) -> Measured:
    return structs.replace(wall, value=wall.value + by_s)
