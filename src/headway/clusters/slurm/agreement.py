"""How well starts are foreseen at a site: only what was seen there."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from headway.clusters.slurm.backfill import Backfill, slurm_starts
from headway.clusters.slurm.job_details import JobDetails
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.site_reading import Reservation
from headway.model.records import SeenWait
from headway.model.units import format_duration

_ENOUGH = 0.5  # of the starts


class Agreement(Struct, frozen=True):
    """How starts that Slurm plans (`squeue --start`) compare with those by its rule, and with the queue twin's."""

    jobs: int  # that wait and have a start by Slurm
    same: int  # whose start by the rule is Slurm's, within one interval between two plans
    interval_s: float
    later_s: float | None  # how much later the queue twin starts jobs of the home partition (median)

    @property
    def is_close(self) -> bool:
        """Whether the rule gives most of Slurm's starts."""
        return self.same >= _ENOUGH * self.jobs

    def __str__(self) -> str:
        if not self.jobs:
            return "nothing to compare: no job waits that Slurm has a start for"
        words = (
            f"for {self.same} of {self.jobs} waiting jobs Slurm's rule, applied to the queue as it is, gives the start "
            f"that Slurm plans within {format_duration(self.interval_s)}"
        )
        if self.later_s is None:
            return words
        how = f"{format_duration(abs(self.later_s))} {'later' if self.later_s > 0 else 'earlier'}"
        return f"{words}; the starts that runs plan with are {how if self.later_s else 'the same'} (median)"


def agreement(
    reading: Reading,
    partition: str,
    settings: Backfill,
    reservations: Sequence[Reservation] = (),
    details: Mapping[int, JobDetails] = MappingProxyType({}),
    *,
    in_cores: bool,
) -> Agreement:
    """Compare Slurm's starts with those by its rule, and for a partition with the queue twin's."""
    by_rule = slurm_starts(reading, settings, reservations, details)
    twin = twin_of(reading, partition, in_cores=in_cores)
    ours = twin.starts() if twin else {}
    jobs, same, later = 0, 0, []
    for job in reading.jobs:
        if job.state != "PENDING" or job.started_at is None:
            continue
        planned, start = max(job.started_at, reading.at), by_rule.get(job.job_id)
        jobs += 1
        same += start is not None and abs(max(start, reading.at) - planned) <= settings.interval_s
        if job.job_id in ours and partition in job.partition.split(","):
            later.append(max(ours[job.job_id], reading.at) - planned)
    return Agreement(jobs, same, settings.interval_s, statistics.median(later) if later else None)


def planned_against_real(waits: Sequence[SeenWait]) -> str:
    """Say how far waits that were planned at submission were from the actual ones."""
    errors = sorted(abs(one.waited_s - one.estimate_s) for one in waits if one.estimate_s is not None)
    if not errors:
        return "no run has kept a planned and an actual wait here yet"
    mean = format_duration(statistics.mean(one.waited_s for one in waits if one.estimate_s is not None))
    worst = format_duration(errors[round(0.9 * (len(errors) - 1))])
    return (
        f"the waits that were planned at submission for the last {len(errors)} jobs of runs here were off by "
        f"{format_duration(statistics.median(errors))} (median), by {worst} or less for 9 of 10; they waited {mean} on "
        "average"
    )
