"""Figures of one category or of a whole run: task counts, and what was given and used of each resource."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from headway.model.outcome import Ending, Outcome, Usage
from headway.model.resources import Resources

# Resources that are both allocated and measured, in the order in which tables show them.
MEASURED = ("memory_bytes", "cores", "disk_bytes")

# States of tasks, each a figure, in the order in which documents list them.
STATES = ("succeeded", "reused", "running", "waiting", "failed", "cut_off")


def task_state(state: str, run_state: str) -> str:
    """Return a task's state; a task that runs, as far as the journal tells, is `interrupted` if the run is not running.

    Its attempt may have ended without a manager, or still go on.
    """
    return "interrupted" if state == "running" and run_state != "running" else state


class ResourceTotals(Struct):
    """One resource, summed over attempts: what they were given and what they used, weighted by run time.

    Phung and Thain 2024, section II-C: a task's consumption C is its peak times the run time of the successful attempt;
    its allocation A is the sum over its attempts of the amount given times the attempt's run time. Absolute Workflow
    Efficiency (AWE) is the sum of C over the sum of A. A task that failed for good has C = 0. Attempts without a
    measurement, and attempts lost with their node, count on neither side.
    """

    allocated: float = 0.0  # amount x seconds
    consumed: float = 0.0
    asked_sum: float = 0.0
    asked_count: int = 0
    used_sum: float = 0.0
    used_count: int = 0
    used_max: float = 0.0

    def ended(self, given: float, peak: float, run_s: float, *, success: bool) -> None:
        """Add an attempt that held `given` for `run_s` seconds; the `peak` that it used counts if it succeeded."""
        self.allocated += given * run_s
        self.asked_sum += given
        self.asked_count += 1
        if success:
            self.consumed += peak * run_s
            self.used_sum += peak
            self.used_count += 1
            self.used_max = max(self.used_max, peak)

    def add(self, other: ResourceTotals) -> None:
        """Add another category's totals."""
        used_max = max(self.used_max, other.used_max)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.used_max = used_max

    @property
    def asked_mean(self) -> float | None:
        """Mean amount given to an attempt."""
        return self.asked_sum / self.asked_count if self.asked_count else None

    @property
    def used_mean(self) -> float | None:
        """Mean peak use of a successful attempt."""
        return self.used_sum / self.used_count if self.used_count else None

    @property
    def most(self) -> float | None:
        """Highest use of any successful attempt."""
        return self.used_max if self.used_count else None

    @property
    def wasted(self) -> float:
        """Amount x seconds given and not used (Phung and Thain 2024: internal fragmentation plus failed allocation)."""
        return self.allocated - self.consumed

    @property
    def awe(self) -> float | None:
        """Absolute Workflow Efficiency; above 1 only where use is not limited to the amount given, as with cores."""
        return self.consumed / self.allocated if self.allocated > 0 and self.used_count else None


class GpuTotals(Struct):
    """The GPUs of attempts, summed: what they held, and how far they used it, where that was measured."""

    held_s: float = 0.0  # GPUs x seconds
    attempts: int = 0  # that used their GPUs, or succeeded without
    used: int = 0  # those of them that did
    known_s: float = 0.0  # GPUs x seconds of attempts of which it is known how busy they kept them
    busy_s: float = 0.0
    memory_most: float = 0.0  # the most GPU memory of one attempt

    def ended(self, gpus: float, run_s: float, usage: Usage, *, success: bool) -> None:
        """Add an attempt that held so many GPUs."""
        self.held_s += gpus * run_s
        if usage.gpu_memory_bytes is not None:
            used = usage.gpu_memory_bytes.value > 0
            self.attempts += used or success
            self.used += used
            self.memory_most = max(self.memory_most, usage.gpu_memory_bytes.value)
        if usage.gpus_average is not None:
            self.known_s += gpus * run_s
            self.busy_s += usage.gpus_average.value * run_s

    def add(self, other: GpuTotals) -> None:
        """Add another category's totals."""
        most = max(self.memory_most, other.memory_most)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.memory_most = most

    @property
    def busy(self) -> float | None:
        """The share of the time of the GPUs in which they were busy."""
        return self.busy_s / self.known_s if self.known_s > 0 else None

    @property
    def most(self) -> float | None:
        """The most GPU memory that an attempt used."""
        return self.memory_most if self.attempts else None


class Figures(Struct):
    """Counts of tasks by state, attempts, run time, and totals for each resource."""

    name: str
    total: int = 0
    succeeded: int = 0  # executed by this run
    reused: int = 0  # the result of an earlier run is kept
    failed: int = 0  # for good
    cut_off: int = 0  # a task that they depend on failed
    running: int = 0
    attempts: int = 0
    lost: int = 0  # attempts that ended with their node
    run_s: float = 0.0  # sum over all attempts
    cpu_s: float = 0.0
    core_s: float = 0.0  # cores given x run time, over attempts whose CPU time is known
    totals: dict[str, ResourceTotals] = field(default_factory=lambda: {name: ResourceTotals() for name in MEASURED})
    gpus: GpuTotals = field(default_factory=GpuTotals)

    @property
    def done(self) -> int:
        """Number of tasks that have a result."""
        return self.succeeded + self.reused

    @property
    def waiting(self) -> int:
        """Number of tasks that wait for their first or next attempt."""
        return self.total - self.done - self.failed - self.cut_off - self.running

    @property
    def busy(self) -> float | None:
        """CPU time over (cores x run time): the share of the given cores that was busy."""
        return self.cpu_s / self.core_s if self.core_s > 0 else None

    def ended(self, given: Resources, outcome: Outcome) -> None:
        """Add an attempt that ended."""
        usage, success = outcome.usage, outcome.ending is Ending.SUCCESS
        run_s = usage.wall_s.value if usage.wall_s else max(0.0, outcome.ended_at - outcome.started_at)
        self.run_s += run_s
        if usage.cpu_s:
            self.cpu_s += usage.cpu_s.value
            self.core_s += given.cores * run_s
        if given.gpus:
            self.gpus.ended(given.gpus, run_s, usage, success=success)
        self.succeeded += success
        totals = self.totals
        if (peak := usage.memory_bytes) is not None:
            totals["memory_bytes"].ended(given.memory_bytes, peak.value, run_s, success=success)
        if (peak := usage.cores_peak) is not None:
            totals["cores"].ended(given.cores, peak.value, run_s, success=success)
        if (peak := usage.disk_bytes) is not None:
            totals["disk_bytes"].ended(given.disk_bytes, peak.value, run_s, success=success)

    @classmethod
    def sum(cls, all_figures: Iterable[Figures]) -> Figures:
        """The sum of several categories' figures."""
        whole = cls("all")
        for figures in all_figures:
            for name in cls.__struct_fields__:
                if name not in ("name", "totals", "gpus"):
                    setattr(whole, name, getattr(whole, name) + getattr(figures, name))
            for resource, totals in figures.totals.items():
                whole.totals[resource].add(totals)
            whole.gpus.add(figures.gpus)
        return whole
