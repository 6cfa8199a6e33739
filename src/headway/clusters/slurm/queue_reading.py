"""The queue twin of a Slurm partition: one reading of the queue, planned by our own kernel."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from headway.clusters.slurm.core_counts import cores_of, freed
from headway.clusters.slurm.site_reading import Partition
from headway.clusters.slurm.squeue import SeenJob
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.job import JobPhase
from headway.model.records import QueueRead

# Jobs with other reasons do not wait for nodes: they are held, exceed a limit, or depend on a job that has not ended.
# Until that changes they have no reservation in the plan.
_WAITS_FOR_NODES = ("", "None", "Priority", "Resources")
_OVERDUE_S = 30.0  # a job past its limit is killed at any moment
_NO_LIMIT_S = 366 * 86400.0


class Reading(Struct, frozen=True):
    """The queue and the partitions at one moment."""

    at: float
    jobs: list[SeenJob]
    partitions: list[Partition]


class Twin(Struct):
    """A partition's queue in our kernel, and which of its jobs are which of Slurm's."""

    queue: BatchQueue
    planned: dict[int, int]  # Slurm's job id -> the kernel's
    counts: Literal["nodes", "cores"]

    def starts(self) -> dict[int, float]:
        """When each waiting job would start by our plan."""
        return {number: self.queue.job(job).promise for number, job in self.planned.items()}

    def snapshot(self) -> QueueRead:
        """The free nodes or cores over time, if no job is added and every job uses its whole time limit."""
        times, free, _ = self.queue.plan_with_nodes()
        return QueueRead(self.queue.now, times, free, counts=self.counts)


def twin_of(reading: Reading, name: str, *, in_cores: bool = False) -> Twin | None:
    """The queue twin of a partition, in nodes or in cores; None if it has no working node.

    A node is free when all jobs on it have reached their limits, in whichever partition they run; where jobs share
    nodes, each frees its own cores. Waiting jobs are
    planned in the order of Slurm's backfill scheduler: by the tier of their partition, priority, and submission; each
    starts as early as possible without delaying a job before it.
    """
    here = next((partition for partition in reading.partitions if partition.name == name), None)
    working = [node for node in here.nodes if node.works] if here else []
    if not working:
        return None
    names = {node.name for node in working}
    machine = sum(node.cpus for node in working) if in_cores else len(working)
    waiting = waiting_jobs(reading, names)
    largest = max(working, key=lambda node: node.cpus)
    if in_cores:
        # In whole minutes, as Slurm plans: thousands of small jobs would make a plan of thousands of steps.
        running = ((job, math.ceil((end - reading.at) / 60) * 60.0) for job, end in _running(reading))
        taken = sorted(freed(running, working).items())
        ahead = [([job.job_id], cores_of(job, largest, nodes), job.limit_s or _NO_LIMIT_S) for job, nodes in waiting]
    else:
        taken = busy(reading, names)
        ahead = bundles(waiting, largest.cpus)
    queue = BatchQueue(machine, Scheduling("conservative"))
    queue.advance(reading.at)
    for remaining_s, units in taken:
        queue.submit(units, remaining_s)
    planned: dict[int, int] = {}
    for job_ids, units, limit_s in ahead:
        job = queue.submit(min(units, machine), limit_s)
        planned |= dict.fromkeys(job_ids, job)
    return Twin(queue, planned, "cores" if in_cores else "nodes")


def _running(reading: Reading) -> Iterator[tuple[SeenJob, float]]:
    """The running jobs and the times at which they reach their limits."""
    for job in reading.jobs:
        if job.phase is JobPhase.RUNNING or job.state == "CONFIGURING":
            start = job.started_at or reading.at
            yield job, max(start + (job.limit_s or _NO_LIMIT_S), reading.at + _OVERDUE_S)


def busy(reading: Reading, names: set[str]) -> list[tuple[float, int]]:
    """Seconds until nodes become free, and how many of them."""
    until: dict[str, float] = {}
    for job, end in _running(reading):
        for node in names.intersection(job.node_names):
            until[node] = max(until.get(node, 0.0), end)
    counted = Counter(until.values())
    return [(end - reading.at, nodes) for end, nodes in sorted(counted.items())]


def waiting_jobs(reading: Reading, names: set[str]) -> list[tuple[SeenJob, int]]:
    """The jobs that wait for any of these nodes, in the order of planning, and how many of these nodes each needs."""
    tiers = {partition.name: partition.tier for partition in reading.partitions}
    shared = {
        partition.name: len(names.intersection(node.name for node in partition.nodes))
        for partition in reading.partitions
    }
    found = []
    for job in reading.jobs:
        wanted = [partition for partition in job.partition.split(",") if shared.get(partition)]
        if job.state == "PENDING" and job.reason in _WAITS_FOR_NODES and wanted:
            common = max(shared[partition] for partition in wanted)
            rank = -max(tiers[partition] for partition in wanted), -job.priority, job.submitted_at or 0.0, job.job_id
            found.append((rank, (job, min(job.nodes, common))))
    return [job for _, job in sorted(found, key=lambda pair: pair[0])]


def bundles(jobs: Sequence[tuple[SeenJob, int]], cpus: int) -> list[tuple[list[int], int, float]]:
    """Group jobs for planning: consecutive small jobs that fit on one node together count as one job."""
    bundles: list[tuple[list[int], int, float]] = []
    filled = 0  # cores of the bundle that is being filled
    for job, nodes in jobs:
        limit_s = job.limit_s or _NO_LIMIT_S
        if job.alone or job.nodes > 1 or job.cpus >= cpus:
            filled = 0
            bundles.append(([job.job_id], max(nodes, math.ceil(job.cpus / cpus) if job.nodes == 1 else 1), limit_s))
        elif filled and filled + job.cpus <= cpus:
            filled += job.cpus
            ids, _, longest_s = bundles[-1]
            bundles[-1] = ([*ids, job.job_id], 1, max(longest_s, limit_s))
        else:
            filled = job.cpus
            bundles.append(([job.job_id], 1, limit_s))
    return bundles
