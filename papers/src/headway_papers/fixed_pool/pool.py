"""A fixed pool of cores and memory without a batch queue, and how attempts end there.

Witt, Wagner, Leser, "Feedback-Based Resource Allocation for Batch Scheduling of Scientific Workflows" (HPCS 2019),
section V: a task that is given less memory than its peak fails after a fixed share of its run time, the relative time
to failure (TTF); the memory given to it until then is wasted.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.simulation.replay import Cost

# Witt et al. 2019, table II.
POOL = Resources(cores=128, memory_bytes=1_952 * 10**9)


class PoolResult(Struct, frozen=True):
    """The results of a run in a fixed pool. Memory is in byte-seconds, as in section V-A."""

    status: str
    makespan_s: float
    attempts: int
    memory: Cost

    @property
    def maq(self) -> float:
        """Memory Allocation Quality (equation 4): what successes used over all that was given."""
        return self.memory.awe or 0.0


def pool_outcome(launch: records.Launch, recorded: Recorded, started_at: float, ttf: float) -> Outcome:
    """How an attempt ends: as recorded, or after `ttf` of its run time if it has less memory than its peak."""
    given, run_s, peak = launch.resources, recorded.run_s or 0.0, recorded.memory_bytes or 0
    fails = peak > given.memory_bytes
    lasted_s = run_s * ttf if fails else run_s
    quality = Quality.LOWER_BOUND if fails else Quality.EXACT
    usage = Usage(
        wall_s=Measured(lasted_s, quality),
        memory_bytes=Measured(given.memory_bytes if fails else peak, quality),
        cores_peak=Measured(recorded.cores or 1.0, Quality.EXACT),
        method="recorded",
    )
    ending = Ending.MEMORY if fails else Ending.SUCCESS
    return Outcome(launch.task, launch.attempt, ending, started_at, started_at + lasted_s, usage)


def pool_result(journal: Iterable[Event | Decision], instance: Instance) -> PoolResult:
    """Sum up a run's records."""
    given: dict[str, Resources] = {}
    cost, attempts, status, ended = Cost(), 0, "unfinished", 0.0
    for record in journal:
        match record:
            case records.Launch():
                given[record.task] = record.resources
                attempts += 1
            case records.TaskEnded(outcome=outcome):
                ended = max(ended, outcome.ended_at)
                amount, lasted_s = given[outcome.task].memory_bytes, outcome.ended_at - outcome.started_at
                if outcome.ending is Ending.SUCCESS:
                    cost.succeeded(instance.recorded[outcome.task].memory_bytes or 0, amount, lasted_s)
                else:
                    cost.failed += amount * lasted_s
                    cost.failures += 1
            case records.Finish():
                status = record.status
    return PoolResult(status, ended, attempts, cost)


def scaled(instance: Instance, byte_seconds: float) -> Instance:
    """The instance with run times multiplied by one factor, so that peaks times run times sum up to `byte_seconds`."""
    total = sum((seen.memory_bytes or 0) * (seen.run_s or 0.0) for seen in instance.recorded.values())
    factor = byte_seconds / total
    longer = {
        task: structs.replace(seen, run_s=(seen.run_s or 0.0) * factor) for task, seen in instance.recorded.items()
    }
    return structs.replace(instance, recorded=longer)
