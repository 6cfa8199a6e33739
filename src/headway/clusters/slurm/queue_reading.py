"""One reading of the queue, planned by our own kernel: from when on how many nodes are free."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from headway.clusters.slurm.seen_job import SeenJob
from headway.clusters.slurm.site_reading import Partition
from headway.clusters.slurm.states import phase_of
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.job import JobPhase
from headway.model.records import QueueRead

# Others wait for something that is not a node: they are held, too many, or wait for another job, and have no place in
# the plan before that changes (a dependent job has no reservation while its parent runs).
_IN_LINE = ("", "None", "Priority", "Resources")
_OVERDUE_S = 30.0  # a job past its limit is killed any moment
_NO_LIMIT_S = 366 * 86400.0


class Reading(Struct, frozen=True):
    """The queue and the partitions at one time."""

    at: float
    jobs: list[SeenJob]
    partitions: list[Partition]


class Twin(Struct):
    """A partition's queue as our kernel has it, and which of its jobs are which of Slurm's."""

    queue: BatchQueue
    planned: dict[int, int]  # Slurm's number -> the kernel's

    def starts(self) -> dict[int, float]:
        """When each job that waits would start, by our plan."""
        return {number: self.queue.job(job).promise for number, job in self.planned.items()}

    def snapshot(self) -> QueueRead:
        """The plan: what is free when nobody comes and everybody takes as long as they asked for."""
        times, free, _ = self.queue.plan_with_nodes()
        return QueueRead(self.queue.now, times, free)


def twin_of(reading: Reading, name: str) -> Twin | None:
    """The twin of a partition; None if it has no node that works.

    A node is free when all jobs on it are over by their limits, in whichever partition they run. Those that wait are
    planned in the order of Slurm's backfill scheduler: by the tier of their partition, priority, and submission; each
    gets the first place that delays nobody before it.
    """
    here = next((partition for partition in reading.partitions if partition.name == name), None)
    names = {node.name for node in here.nodes if node.works} if here else set()
    if here is None or not names:
        return None
    queue = BatchQueue(len(names), Scheduling("conservative"))
    queue.advance(reading.at)
    for remaining_s, nodes in busy(reading, names):
        queue.submit(nodes, remaining_s)
    planned: dict[int, int] = {}
    cpus = max(node.cpus for node in here.nodes)
    for job_ids, nodes, limit_s in bundles(line(reading, names), cpus):
        job = queue.submit(min(nodes, len(names)), limit_s)
        planned |= dict.fromkeys(job_ids, job)
    return Twin(queue, planned)


def busy(reading: Reading, names: set[str]) -> list[tuple[float, int]]:
    """For how long yet how many nodes are taken."""
    until: dict[str, float] = {}
    for job in reading.jobs:
        if phase_of(job.state) is JobPhase.RUNNING or job.state == "CONFIGURING":
            start = job.started_at or reading.at
            end = max(start + (job.limit_s or _NO_LIMIT_S), reading.at + _OVERDUE_S)
            for node in names.intersection(job.node_names):
                until[node] = max(until.get(node, 0.0), end)
    counted = Counter(until.values())
    return [(end - reading.at, nodes) for end, nodes in sorted(counted.items())]


def line(reading: Reading, names: set[str]) -> list[tuple[SeenJob, int]]:
    """The jobs that wait for nodes of these, in the order in which they are planned, and for how many."""
    tiers = {partition.name: partition.tier for partition in reading.partitions}
    shared = {
        partition.name: len(names.intersection(node.name for node in partition.nodes))
        for partition in reading.partitions
    }
    found = []
    for job in reading.jobs:
        wanted = [partition for partition in job.partition.split(",") if shared.get(partition)]
        if job.state == "PENDING" and job.reason in _IN_LINE and wanted:
            common = max(shared[partition] for partition in wanted)
            rank = -max(tiers[partition] for partition in wanted), -job.priority, job.submitted_at or 0.0, job.job_id
            found.append((rank, (job, min(job.nodes, common))))
    return [job for _, job in sorted(found, key=lambda pair: pair[0])]


def bundles(line: Sequence[tuple[SeenJob, int]], cpus: int) -> list[tuple[list[int], int, float]]:
    """Jobs to be planned. Small ones that stand one after the other and fit on one node are one job."""
    bundles: list[tuple[list[int], int, float]] = []
    filled = 0  # cores of the bundle that is being filled
    for job, nodes in line:
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
