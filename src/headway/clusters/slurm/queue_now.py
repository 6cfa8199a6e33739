"""The queue as it is now, as a list of jobs from which a simulation can continue."""

from __future__ import annotations

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.probes import corrected, default_shapes, probe
from headway.clusters.slurm.queue_reading import bundles, busy, twin_of, waiting_jobs
from headway.clusters.slurm.site import SlurmSite
from headway.model.errors import SiteError
from headway.model.records import QueueRead
from headway.model.resources import Resources


class QueueNow(Struct, frozen=True):
    """The home partition: its nodes, its running jobs, and its waiting jobs in the order of the queue."""

    cluster: str  # its name
    partition: str
    machine: int
    running: list[tuple[int, float]]  # nodes, and seconds left until the time limit
    waiting: list[tuple[int, float]]  # nodes, and seconds requested
    node: Resources  # what one node has; walltime_s is the longest that is allowed
    most_jobs: int | None
    probes: int  # how many of Slurm's estimates were used


def queue_now(options: SlurmOptions) -> QueueNow:
    """Read the queue once. Nothing is submitted; a few `--test-only` probes account for what we cannot see."""
    options.check()
    commands = Commands(options.timeout_s)
    site = SlurmSite(commands, options)
    site.wait_for_answer()
    reading = site.reading()
    partition, most = site.home()
    twin = twin_of(reading, partition.name)
    if twin is None:
        raise SiteError(f"no node of {partition.name} works now", todo="look at `sinfo`, and try again later")
    works = {node.name for node in partition.nodes if node.works}
    configuration = site.configuration()
    running = [(nodes, remaining_s) for remaining_s, nodes in busy(reading, works)]
    cpus = max(node.cpus for node in partition.nodes)
    waiting = [(min(nodes, len(works)), limit_s) for _, nodes, limit_s in bundles(waiting_jobs(reading, works), cpus)]
    if not waiting or configuration is None or configuration.hides_jobs:
        shapes = default_shapes(len(works), most)
        running = _taken(corrected(twin.snapshot(), probe(commands, shapes, most, partition, options)), len(works))
        waiting = []
    return QueueNow(
        site.cluster(),
        partition.name,
        len(works),
        running,
        waiting,
        most,
        site.most_jobs(),
        commands.calls.get("sbatch", 0),
    )


def _taken(plan: QueueRead, machine: int) -> list[tuple[int, float]]:
    """Running jobs that leave free at most what the plan says: a node taken later counts as taken until then."""
    taken: list[tuple[int, float]] = []
    most = 0.0  # nodes taken at some later time
    for free, until in zip(reversed(plan.free[:-1]), reversed(plan.times[1:]), strict=True):
        if machine - free > most:
            taken.append((int(machine - free - most), until - plan.at))
            most = machine - free
    return [(nodes, left_s) for nodes, left_s in taken if nodes > 0 and left_s > 0]
