"""What sacct says a job used. It looks now and then: a peak is at least that high, and a short job has none at all."""

from __future__ import annotations

from headway.clusters.slurm.accounting import Kept
from headway.clusters.slurm.states import Evidence, ending_of
from headway.model.outcome import Ending, Measured, Quality, Usage


def usage_of(kept: Kept) -> Usage:
    """What one round of a job used: memory is the largest of its steps; of one that was killed, a lower bound."""
    ending, _ = ending_of(Evidence(kept.state, kept.reason, kept.exit, kept.derived_exit))
    stopped = ending is not Ending.SUCCESS
    memory = max(kept.memory_bytes, default=None)
    quality = Quality.LOWER_BOUND if stopped else Quality.SAMPLED
    return Usage(
        wall_s=_measured(kept.elapsed_s, Quality.LOWER_BOUND if stopped else Quality.EXACT),
        cpu_s=_measured(kept.cpu_s, quality),
        memory_bytes=_measured(memory, quality),
        method="sacct",
    )


def _measured(value: float | None, quality: Quality) -> Measured | None:
    return Measured(value, quality) if value else None
