"""Figures of one category, or of a whole run: how many tasks, and what was asked for against what was used."""

from __future__ import annotations

from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources

# What can be both given and measured; in the order in which tables show it.
MEASURED = ("memory_bytes", "cores", "disk_bytes")


class Ledger:
    """One resource: what attempts were given and what they used, each weighted by how long they took.

    Paper 001, section II-C: a task's consumption C is its peak times the run time of the attempt that succeeded; its
    allocation A is what each of its attempts was given times how long that one ran. Absolute Workflow Efficiency is
    the sum of C over the sum of A. A task that failed for good consumed nothing of use: its C is 0. An attempt whose
    use could not be measured counts on neither side, nor does one that was lost together with its node.
    """

    __slots__ = ("allocated", "asked_count", "asked_sum", "consumed", "used_count", "used_max", "used_sum")

    def __init__(self) -> None:
        self.allocated = 0.0  # amount x seconds
        self.consumed = 0.0
        self.asked_sum = 0.0
        self.asked_count = 0
        self.used_sum = 0.0
        self.used_count = 0
        self.used_max = 0.0

    def failed(self, given: float, run_s: float) -> None:
        """An attempt that did not succeed had `given` for `run_s` seconds."""
        self.allocated += given * run_s
        self.asked_sum += given
        self.asked_count += 1

    def succeeded(self, given: float, peak: float, run_s: float) -> None:
        """An attempt that succeeded had `given` for `run_s` seconds and used `peak` of it."""
        self.failed(given, run_s)
        self.consumed += peak * run_s
        self.used_sum += peak
        self.used_count += 1
        self.used_max = max(self.used_max, peak)

    def add(self, other: Ledger) -> None:
        """Take over another ledger's entries."""
        self.allocated += other.allocated
        self.consumed += other.consumed
        self.asked_sum += other.asked_sum
        self.asked_count += other.asked_count
        self.used_sum += other.used_sum
        self.used_count += other.used_count
        self.used_max = max(self.used_max, other.used_max)

    @property
    def asked_mean(self) -> float | None:
        """What an attempt was given, on average."""
        return self.asked_sum / self.asked_count if self.asked_count else None

    @property
    def used_mean(self) -> float | None:
        """What a successful attempt used at its peak, on average."""
        return self.used_sum / self.used_count if self.used_count else None

    @property
    def wasted(self) -> float:
        """Amount x seconds that were given and not used: 001's internal fragmentation plus failed allocation."""
        return self.allocated - self.consumed

    @property
    def awe(self) -> float | None:
        """Absolute Workflow Efficiency; above 1 only where use is not limited to what was given, as with cores."""
        return self.consumed / self.allocated if self.allocated > 0 and self.used_count else None


class Figures:
    """Tasks by where they are, attempts, run time and a ledger a resource."""

    __slots__ = (
        "attempts",
        "cut_off",
        "failed",
        "ledgers",
        "lost",
        "name",
        "reused",
        "run_s",
        "running",
        "succeeded",
        "total",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.total = 0
        self.succeeded = 0  # executed by this run
        self.reused = 0  # an earlier run's result stands
        self.failed = 0  # for good
        self.cut_off = 0  # something they depend on failed
        self.running = 0
        self.attempts = 0
        self.lost = 0  # attempts that ended with their node
        self.run_s = 0.0  # of all attempts, added up
        self.ledgers = {resource: Ledger() for resource in MEASURED}

    @property
    def done(self) -> int:
        """Tasks whose result is there."""
        return self.succeeded + self.reused

    @property
    def waiting(self) -> int:
        """Tasks that have not been started, or wait to be started again."""
        return self.total - self.done - self.failed - self.cut_off - self.running

    def ended(self, given: Resources, outcome: Outcome) -> None:
        """Book an attempt that ended."""
        usage = outcome.usage
        run_s = usage.wall_s.value if usage.wall_s else max(0.0, outcome.ended_at - outcome.started_at)
        self.run_s += run_s
        success = outcome.ending is Ending.SUCCESS
        self.succeeded += success
        for resource, peak in zip(MEASURED, (usage.memory_bytes, usage.cores_peak, usage.disk_bytes), strict=True):
            if peak is None:
                continue
            if success:
                self.ledgers[resource].succeeded(getattr(given, resource), peak.value, run_s)
            else:
                self.ledgers[resource].failed(getattr(given, resource), run_s)

    def add(self, other: Figures) -> None:
        """Take over another's counts."""
        for name in ("total", "succeeded", "reused", "failed", "cut_off", "running", "attempts", "lost", "run_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for resource, ledger in other.ledgers.items():
            self.ledgers[resource].add(ledger)
