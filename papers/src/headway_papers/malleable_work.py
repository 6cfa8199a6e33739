"""Malleable tasks: run time by cores, by Amdahl's law and by others, and how attempts end.

A task that takes t seconds on one core, of which a fraction p can be parallel, takes t (1 - p + p / c) on c cores. Each
core beyond the first adds a little work, the cost of dividing it. A program may also have a most of threads that make
it faster, and may keep all its cores busy whether that makes it faster or not.
"""

from __future__ import annotations

from math import inf

from msgspec import Struct

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Launch


class MalleableWork(Struct, frozen=True):
    """The work of a task.

    >>> work = MalleableWork(one_core_s=100.0, parallel=0.8, memory_bytes=10**9)
    >>> work.run_s(1), work.run_s(4), round(work.busy_cores(4), 2)
    (100.0, 40.0, 2.5)
    >>> memory_bound = MalleableWork(100.0, 1.0, 10**9, most_threads=4, always_busy=True)
    >>> memory_bound.run_s(4), memory_bound.run_s(8), memory_bound.busy_cores(8)
    (25.0, 25.0, 8)
    """

    one_core_s: float
    parallel: float  # the fraction of the work that can be parallel
    memory_bytes: int
    overhead: float = 0.0  # additional work for each core beyond the first, as a share of the work
    fails_after: float = 0.5  # the share of its run time after which it fails with too little memory
    most_threads: float = inf  # more of them make it no faster: it starts no more, or they wait for memory
    always_busy: bool = False  # threads that wait look busy: they poll, or wait for memory

    def run_s(self, cores: float) -> float:
        """Seconds on that many cores; less than one core is a share of one."""
        if cores < 1:
            return self.one_core_s / max(cores, 1e-9)
        return self.one_core_s * (1.0 - self.parallel + self.parallel / min(cores, self.most_threads))

    def busy_cores(self, cores: float) -> float:
        """Mean number of busy cores."""
        if self.always_busy:
            return cores
        threads = min(cores, self.most_threads)
        work_s = self.one_core_s * (1.0 + self.overhead * max(0.0, threads - 1.0))
        return min(cores, work_s / self.run_s(cores))


def malleable_outcome(launch: Launch, work: MalleableWork, started_at: float) -> Outcome:
    """How an attempt ends with its resources: too little memory makes it fail, fewer cores make it last longer."""
    given = launch.resources
    run_s, busy = work.run_s(given.cores), work.busy_cores(given.cores)
    ending, lasted_s = Ending.SUCCESS, run_s
    if work.memory_bytes > given.memory_bytes:
        ending, lasted_s = Ending.MEMORY, run_s * work.fails_after
    quality = Quality.EXACT if ending is Ending.SUCCESS else Quality.LOWER_BOUND
    usage = Usage(
        wall_s=Measured(lasted_s, quality),
        cpu_s=Measured(busy * lasted_s, Quality.EXACT),
        memory_bytes=Measured(min(work.memory_bytes, given.memory_bytes), quality),
        cores_peak=Measured(busy, Quality.EXACT),
        cores_average=Measured(busy, Quality.EXACT),
        method="simulated",
    )
    return Outcome(launch.task, launch.attempt, ending, started_at, started_at + lasted_s, usage)
