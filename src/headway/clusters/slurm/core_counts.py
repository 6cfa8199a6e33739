"""The cores that jobs take where they share nodes. Memory counts as cores, by its share of a node.

A node whose memory is all taken has no free core. Which nodes have the free cores is not counted, and neither are GPUs:
a job that needs many cores on one node may start later than planned.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable

from headway.clusters.slurm.site_reading import Node
from headway.clusters.slurm.squeue import SeenJob
from headway.model.resources import Resources


def cores_of(job: SeenJob, node: Node, nodes: int) -> int:
    """The cores that a waiting job would take on `nodes` nodes like this one."""
    if job.alone:
        return nodes * node.cpus
    return min(nodes * node.cpus, math.ceil(_larger(job.cpus, job.memory_bytes, node)))


def cores_asked(asked: Resources, node: Node) -> int:
    """The cores that a request would take on nodes like this one."""
    return asked.nodes * min(node.cpus, math.ceil(_larger(asked.cores, asked.memory_bytes, node)))


def _larger(cpus: float, memory_bytes: float, node: Node) -> float:
    return max(cpus, memory_bytes / node.memory_bytes * node.cpus if node.memory_bytes else 0.0, 1.0)


def freed(running: Iterable[tuple[SeenJob, float]], nodes: Collection[Node]) -> Counter[float]:
    """The cores that become free on these nodes, by the time when they do; each job comes with its end."""
    on_node: dict[str, list[tuple[float, SeenJob]]] = {node.name: [] for node in nodes}
    for job, end in running:
        for name in job.node_names:
            if name in on_node:
                on_node[name].append((end, job))
    found: Counter[float] = Counter()
    for node in nodes:
        cpus = memory_bytes = 0.0
        taken = 0  # by the jobs that end later
        for end, job in sorted(on_node[node.name], key=lambda pair: -pair[0]):
            wide = len(job.node_names)
            cpus += node.cpus if job.alone else job.cpus / wide
            memory_bytes += job.memory_bytes / wide
            with_it = min(node.cpus, math.ceil(_larger(cpus, memory_bytes, node) - 1e-9))
            found[end] += with_it - taken
            taken = with_it
    return +found  # without those that free nothing
