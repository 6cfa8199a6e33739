"""The cores that jobs take where they share nodes. Memory and GPUs count as cores, by their share of a node.

A node whose memory or GPUs are all taken has no free core. Which nodes have the free cores is not counted: a job that
needs many cores on one node may start later than planned. The memory of waiting jobs counts only if it is scarcer than
cores, that is if all of them together ask for a larger part of it: jobs with much memory and jobs with many cores share
nodes. The same holds for their GPUs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from headway.clusters.slurm.site_reading import Node
from headway.clusters.slurm.squeue import SeenJob
from headway.model.resources import Resources

Floats = NDArray[np.float64]


def cores_of(jobs: Sequence[tuple[SeenJob, float]], node: Node) -> list[int]:
    """The cores that waiting jobs would take on nodes like this one, each with the part of it that may run there.

    Jobs that may also run elsewhere take that part of their cores in all, so that a small one may take none.
    """
    parts = _column(part for _, part in jobs)
    cpus, memory_bytes = _column(job.cpus for job, _ in jobs), _column(job.memory_bytes for job, _ in jobs)
    whole = _column(job.nodes * node.cpus for job, _ in jobs)
    alone = np.array([job.alone for job, _ in jobs], bool)
    gpus = _column(job.gpus for job, _ in jobs)
    asked = cpus
    for amounts, each in ((memory_bytes, _worth(node.cpus, node.memory_bytes)), (gpus, _worth(node.cpus, node.gpus))):
        if (amounts * each)[~alone].sum() > cpus[~alone].sum():
            asked = np.maximum(asked, np.ceil(amounts * each - 1e-9))
    cores = np.where(alone, whole, np.clip(asked, 1.0, whole))
    shared = np.floor(np.cumsum(np.where(parts < 1, cores * parts, 0.0)) + 1e-9)
    found: list[int] = np.where(parts < 1, np.diff(shared, prepend=0.0), cores).astype(np.int64).tolist()
    return found


def cores_asked(asked: Resources, node: Node) -> int:
    """The cores that a request would take on nodes like this one."""
    by_memory = asked.memory_bytes * _worth(node.cpus, node.memory_bytes)
    by_gpus = asked.gpus * _worth(node.cpus, node.gpus)
    return asked.nodes * min(node.cpus, math.ceil(max(asked.cores, by_memory, by_gpus, 1.0)))


def _worth(cpus: int, amount: int) -> float:
    """The cores that go with one unit of something of which a node has so much."""
    return cpus / amount if amount else 0.0


def _column(values: Iterable[float]) -> Floats:
    return np.fromiter(values, np.float64)


def freed(running: Iterable[tuple[SeenJob, float]], nodes: Collection[Node]) -> Counter[float]:
    """The cores that become free on these nodes, by the time when they do; each job comes with its end."""
    number = {node.name: index for index, node in enumerate(nodes)}
    has = [(node.cpus, _worth(node.cpus, node.memory_bytes), _worth(node.cpus, node.gpus)) for node in nodes]
    parts = []  # of jobs on nodes
    for job, end in running:
        wide = len(job.node_names)
        for name in job.node_names:
            if (index := number.get(name)) is not None:
                cpus, of_memory, of_gpus = has[index]
                cores = cpus if job.alone else job.cpus / wide
                parts.append((index, -end, cores, job.memory_bytes / wide * of_memory, job.gpus / wide * of_gpus))
    if not parts:
        return Counter()
    on, ends, *amounts = np.array(sorted(parts)).T
    first = np.searchsorted(on, on)  # of the parts on the same node, which end the later the earlier they come
    taken = np.maximum.reduce([_sums(each, first) for each in amounts])
    whole = np.array(has)[on.astype(np.int64), 0]
    taken = np.minimum(whole, np.maximum(1.0, np.ceil(taken - 1e-9)))  # with those that end later
    more = np.diff(taken, prepend=0.0)
    more[first == np.arange(len(on))] = taken[first == np.arange(len(on))]
    times, places = np.unique(-ends, return_inverse=True)
    freed_then = np.bincount(places, more)
    return +Counter(dict(zip(times.tolist(), map(int, freed_then), strict=True)))  # without those that free nothing


def _sums(values: Floats, first: NDArray[np.int64]) -> Floats:
    """The sum of each value and those before it, from the one at `first` on."""
    sums = np.cumsum(values)
    return sums - (sums - values)[first]
