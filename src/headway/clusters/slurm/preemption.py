"""Partitions in which jobs of higher priority may take a job's nodes: which these are, and what that may cost.

A job goes to such a partition only if the user allows it, and if it starts there sooner by more than it is expected to
lose: `rate * length * (run / 2 + wait)`. `rate * length` is how often the job is expected to be preempted while it
lasts. Each time its longest task loses half of its run time on average, and waits for another job. The rate is learned
from the jobs of this run and of earlier runs in the same directory. No job goes where another job of the same user,
which waits in a partition of higher priority, may take its nodes before it has ended.
"""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from pathlib import Path

from headway.clusters.slurm.job_folder import ENDED, STARTED, Asked, JobFolder
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading
from headway.clusters.slurm.site_reading import Configuration, Partition
from headway.model.errors import SiteError
from headway.model.job import JobPhase

# What is assumed before anything was seen: one preemption in so much time of running jobs.
_ASSUMED, _ASSUMED_S = 1.0, 4 * 3600.0
_RUNS = 20  # the newest runs of a directory, which count


def preemptible(partitions: Sequence[Partition], configuration: Configuration | None) -> set[str]:
    """The partitions whose jobs may be preempted, by the priority of other partitions with the same nodes."""
    if configuration is None or not configuration.preempts_by_tier:
        return set()
    nodes = {partition.name: {node.name for node in partition.nodes} for partition in partitions}
    return {
        low.name
        for low in partitions
        for high in partitions
        if low.preempt_mode not in ("OFF", "GANG") and high.tier > low.tier and nodes[low.name] & nodes[high.name]
    }


def allowed(
    candidates: Sequence[Partition],
    partitions: Sequence[Partition],
    risky: Set[str],
    options: SlurmOptions,
    closed: Set[str] = frozenset(),
) -> list[Partition]:
    """The candidates without `risky` ones that the user has not allowed, unless there are no others.

    Those that the user allows come last: plans are made for the others. Of these, `closed` ones do not accept the
    user's jobs.
    """
    named = (options.preemptible or "").split(",") if options.preemptible else []
    known = {partition.name: partition for partition in partitions}
    if unknown := [name for name in named if name not in known]:
        raise SiteError(f"there is no partition {unknown[0]}", todo=f"name one of {', '.join(sorted(known))}")
    others = [one for one in candidates if one.name not in named]
    safe = [one for one in others if one.name not in risky or options.partition is not None]
    preferred = (options.prefer_partitions or "").split(",")
    if safe and (lost := [one.name for one in others if one not in safe and one.name in preferred]):
        what = f"others may preempt jobs in {lost[0]}, so that it is not used"
        raise SiteError(what, where="prefer-partitions", todo=f'allow it: preemptible = ["{lost[0]}"]')
    return [*(safe or others), *(known[name] for name in dict.fromkeys(named) if name not in closed)]


def loss_s(rate: float, asked: Asked, wait_s: float) -> float:
    """How much later the work of a job is expected to end since it may be preempted; `rate` is in preemptions a second.

    >>> from headway.model.resources import Resources
    >>> asked = Asked(Resources(walltime_s=7200.0), 0.0, at_stake_s=3600.0)
    >>> loss_s(0.25 / 3600.0, asked, wait_s=60.0)
    930.0
    """
    length_s = asked.per_node.walltime_s or _ASSUMED_S
    at_stake_s = length_s if asked.at_stake_s is None else asked.at_stake_s
    return rate * length_s * (at_stake_s / 2 + wait_s)


def would_lose_to_own(low: Partition, asked: Asked, reading: Reading, user: int) -> bool:
    """Whether a waiting job of the same user may take the nodes of a job in this partition before that has ended."""
    ends_at = reading.at + (asked.per_node.walltime_s or _ASSUMED_S)
    nodes = {node.name for node in low.nodes}
    above = {
        high.name
        for high in reading.partitions
        if high.tier > low.tier and nodes.intersection(node.name for node in high.nodes)
    }
    own = (job for job in reading.jobs if job.user == user and job.phase is JobPhase.PENDING)
    return any(above.intersection(job.partition.split(",")) and (job.started_at or 0.0) < ends_at for job in own)


def rate_of(jobs: Path, partition: str) -> float:
    """Preemptions a second in a partition, by the jobs of a run, whose folders are in `jobs`, and of earlier runs."""
    seen, seen_s = _ASSUMED, _ASSUMED_S
    runs = jobs.parent.parent  # `jobs` is `runs/NUMBER/jobs`
    numbers = sorted(int(path.name) for path in runs.iterdir() if path.name.isdecimal())[-_RUNS:]
    everywhere = [runs / str(number) / jobs.name for number in numbers] or [jobs]
    for path in (path for folder in everywhere if folder.is_dir() for path in folder.iterdir()):
        folder = JobFolder(path.parent, path.name)
        asked = folder.asked()
        if asked is None or asked.partition != partition:
            continue
        started, ended = folder.last_mark(STARTED), folder.last_mark(ENDED)
        seen += asked.preempted_at is not None
        if started is not None:
            until = asked.preempted_at or (ended.at if ended is not None else time.time())
            seen_s += min(max(0.0, until - started.at), asked.per_node.walltime_s or until)
    return seen / seen_s
