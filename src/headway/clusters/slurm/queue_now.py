"""The queue as it is now, as jobs: what a simulation needs to go on from here."""

from __future__ import annotations

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.probes import corrected, default_shapes, probe
from headway.clusters.slurm.queue_reading import bundles, busy, line, twin_of
from headway.clusters.slurm.site import SlurmSite
from headway.model.errors import SiteError
from headway.model.records import QueueRead
from headway.model.resources import Resources


class QueueNow(Struct, frozen=True):
    """The home partition: its nodes, how long how many of them are taken by what runs, and who waits, in order."""

    cluster: str  # what it is called
    partition: str
    machine: int
    running: list[tuple[int, float]]  # nodes, and the seconds that are left of what was asked for
    waiting: list[tuple[int, float]]  # nodes, and the seconds that were asked for
    node: Resources  # of one node; walltime_s is the longest
    most_jobs: int | None
    probes: int  # how many estimates of Slurm's were asked for


def queue_now(options: SlurmOptions) -> QueueNow:
    """Read the queue once. Nothing is submitted; a few `--test-only` probes put right what we cannot see."""
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
    waiting = [(min(nodes, len(works)), limit_s) for _, nodes, limit_s in bundles(line(reading, works), cpus)]
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
    """Jobs that leave free what the plan says, or less: a node that is taken later on counts as taken until then."""
    taken: list[tuple[int, float]] = []
    most = 0.0  # nodes that are taken at some later time
    for free, until in zip(reversed(plan.free[:-1]), reversed(plan.times[1:]), strict=True):
        if machine - free > most:
            taken.append((int(machine - free - most), until - plan.at))
            most = machine - free
    return [(nodes, left_s) for nodes, left_s in taken if nodes > 0 and left_s > 0]
