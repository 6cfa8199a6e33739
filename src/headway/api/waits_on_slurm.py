"""`waits(on="slurm")`: how long jobs of several shapes would wait in the queue of the cluster here, as it is now."""

from __future__ import annotations

from headway.api.answers import Answer
from headway.api.plan_on_slurm import imagined
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_now import queue_now
from headway.report.queue.waits import ShapeWait

_LENGTHS_S = (600.0, 3600.0, 6 * 3600.0, 86_400.0)


class WaitsNow(Answer, frozen=True):
    """The queue of a partition as it is now, and how long jobs of several shapes would wait in it."""

    cluster: str
    partition: str
    machine: int  # nodes
    nodes_taken: int
    jobs_waiting: int
    probes: int  # how many of Slurm's own estimates were used
    waits: list[ShapeWait]


def waits_on_slurm(partition: str | None) -> WaitsNow:
    """Read the queue of the cluster here, and plan jobs of several shapes in it. Nothing is submitted."""
    now = queue_now(SlurmOptions(partition=partition, nodes="whole"))
    longest_s = now.node.walltime_s or _LENGTHS_S[-1]
    lengths = [*(length_s for length_s in _LENGTHS_S if length_s < longest_s), longest_s]
    widest = min(now.machine, now.node.nodes)
    widths = [*(width for width in (2**power for power in range(20)) if width < widest), widest]
    shapes = [(width, length_s) for width in widths for length_s in lengths]
    waits_s = imagined(now, 0, 0, most_jobs=1).waits(
        [width for width, _ in shapes], [length_s for _, length_s in shapes]
    )
    taken = sum(nodes for nodes, _ in now.running)
    found = [ShapeWait(*shape, wait_s) for shape, wait_s in zip(shapes, waits_s.tolist(), strict=True)]
    return WaitsNow(now.cluster, now.partition, now.machine, taken, len(now.waiting), now.probes, found)
