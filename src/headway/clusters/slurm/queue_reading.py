"""The queue twin of a Slurm partition: one reading of the queue, planned by our own kernel."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
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
    """A partition's queue in our kernel: nodes or cores that are taken now, and then those that jobs wait for."""

    queue: BatchQueue
    running: list[tuple[int, float]]  # units, and seconds left until the time limit
    waiting: list[tuple[list[int], int, float]]  # Slurm's job ids, units, and seconds requested; in the queue's order
    counts: Literal["nodes", "cores"]

    def starts(self) -> dict[int, float]:
        """When each waiting job would start by our plan."""
        planned = self.queue.promises[len(self.running) :].tolist()
        jobs = zip(self.waiting, planned, strict=True)
        return {number: start for (numbers, _, _), start in jobs for number in numbers}

    def snapshot(self) -> QueueRead:
        """The free nodes or cores over time, if no job is added and every job uses its whole time limit."""
        times, free, _ = self.queue.plan_with_nodes()
        ahead_s = sum(units * limit_s for _, units, limit_s in self.waiting) / self.queue.machine
        count = sum(len(numbers) for numbers, _, _ in self.waiting)
        return QueueRead(self.queue.now, times, free, counts=self.counts, waiting=count, ahead_s=ahead_s)


def twin_of(reading: Reading, name: str, *, in_cores: bool = False) -> Twin | None:
    """The queue twin of a partition, in nodes or in cores; None if it has no working node.

    A node is free when all jobs on it have reached their limits, in whichever partition they run; where jobs share
    nodes, each frees its own cores, and jobs of other partitions that have some of these nodes take that part of their
    cores. Waiting jobs are planned in the order of Slurm's backfill scheduler: by the tier of their partition, by
    priority, and by submission; each starts as early as possible without delaying a job before it.
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
        taken = freed(((job, math.ceil((end - reading.at) / 60) * 60.0) for job, end in _running(reading)), working)
        with_cores = zip(waiting, cores_of([(job, part) for job, _, part in waiting], largest), strict=True)
        ahead = [([job.job_id], cores, job.limit_s or _NO_LIMIT_S) for (job, _, _), cores in with_cores if cores]
    else:
        taken = busy(reading, names)
        ahead = bundles([(job, nodes) for job, nodes, _ in waiting], largest.cpus)
    running = [(units, left_s) for left_s, units in sorted(taken.items())]
    ahead = [(numbers, min(units, machine), limit_s) for numbers, units, limit_s in ahead]
    jobs = np.array([*running, *(shape for _, *shape in ahead)], np.float64).reshape(-1, 2)
    queue = BatchQueue(
        machine,
        Scheduling("conservative"),
        submit=np.full(len(jobs), reading.at),
        nodes=jobs[:, 0],
        req=jobs[:, 1],
        run=jobs[:, 1],
    )
    queue.advance(reading.at)
    return Twin(queue, running, ahead, "cores" if in_cores else "nodes")


def _running(reading: Reading) -> Iterator[tuple[SeenJob, float]]:
    """The running jobs and the times at which they reach their limits."""
    for job in reading.jobs:
        if job.state != "PENDING" and (job.phase is JobPhase.RUNNING or job.state == "CONFIGURING"):
            start = job.started_at or reading.at
            yield job, max(start + (job.limit_s or _NO_LIMIT_S), reading.at + _OVERDUE_S)


def busy(reading: Reading, names: set[str]) -> Counter[float]:
    """How many nodes become free, by the seconds until they do."""
    until: dict[str, float] = {}
    for job, end in _running(reading):
        for node in names.intersection(job.node_names):
            until[node] = max(until.get(node, 0.0), end)
    return Counter(end - reading.at for end in until.values())


def waiting_jobs(reading: Reading, names: set[str]) -> list[tuple[SeenJob, int, float]]:
    """The jobs that wait for any of these nodes, in the order of planning.

    With each: how many of these nodes it needs, and which part of the nodes that it may run on are these.
    """
    tiers = {partition.name: partition.tier for partition in reading.partitions}
    shared = {
        partition.name: len(names.intersection(node.name for node in partition.nodes))
        for partition in reading.partitions
    }
    sizes = {partition.name: sum(node.works for node in partition.nodes) for partition in reading.partitions}
    known: dict[str, tuple[int, int, int]] = {}  # by what jobs say of partitions: tier, nodes in common, nodes in all
    found: list[tuple[int, int, float, int, int, SeenJob, int, float]] = []
    for job in reading.jobs:
        if job.state != "PENDING" or job.reason not in _WAITS_FOR_NODES:
            continue
        if job.partition not in known:
            wanted = [partition for partition in job.partition.split(",") if shared.get(partition)]
            tier, common, in_all = (max((of[name] for name in wanted), default=0) for of in (tiers, shared, sizes))
            known[job.partition] = tier, common, in_all
        tier, common, in_all = known[job.partition]
        if common:
            rank = -tier, -job.priority, job.submitted_at or 0.0, job.job_id
            # The members of an array that wait have one id: the number in the list tells them apart.
            found.append((*rank, len(found), job, max(1, min(job.nodes, common)), common / in_all))
    found.sort()
    return [(job, nodes, part) for *_, job, nodes, part in found]


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
