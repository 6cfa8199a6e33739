"""The queue as it is now, as a list of jobs from which a simulation can continue."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.probes import Probing
from headway.clusters.slurm.queue_reading import Reading, Twin, twin_of
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.site_reading import Partition
from headway.model.errors import SiteError
from headway.model.records import QueueRead
from headway.model.resources import Resources


class QueueNow(Struct, frozen=True):
    """The home partition: its nodes, its running jobs, and its waiting jobs in the order of the queue.

    Where jobs ask for shares, all are counted in cores instead of nodes.
    """

    cluster: str  # its name
    partition: str
    machine: int
    running: list[tuple[int, float]]  # nodes, and seconds left until the time limit
    waiting: list[tuple[int, float]]  # nodes, and seconds requested
    node: Resources  # what one node has; walltime_s is the longest that is allowed
    most_jobs: int | None
    probes: int  # how many of Slurm's estimates were used
    shares: bool = False  # whether jobs ask for shares of nodes


class HomeQueue(NamedTuple):
    """One reading of the queue, with our plan of the home partition."""

    reading: Reading
    partition: Partition
    most: Resources  # the largest request that the partition allows
    twin: Twin
    corrected: QueueRead | None  # the plan corrected by Slurm's estimates, where our own does not suffice


def read_home(site: SlurmSite, probing: Probing, since: float = 0.0, *, in_cores: bool = False) -> HomeQueue:
    """Read the queue, not as it was before `since`, and plan the home partition, in nodes or cores.

    While jobs wait, our plan is better than `sbatch --test-only`, which does not backfill; Slurm is asked only where we
    cannot see those jobs, or if none waits.
    """
    site.wait_for_answer()
    partition, most = site.home()  # while no node works there, the queue is not read in vain
    reading = site.reading(since)
    twin = twin_of(reading, partition.name, in_cores=in_cores)
    if twin is None:
        raise SiteError(f"no node of {partition.name} works now", todo="look at `sinfo`, and try again later")
    configuration = site.configuration()
    if twin.waiting and (configuration is None or not configuration.hides_jobs):
        return HomeQueue(reading, partition, most, twin, None)
    return HomeQueue(reading, partition, most, twin, probing.corrected(twin.snapshot(), most, partition))


def queue_now(options: SlurmOptions) -> QueueNow:
    """Read the queue once. Nothing is submitted; a few `--test-only` probes account for what we cannot see."""
    options.check()
    commands = Commands(options.timeout_s, options.clusters)
    site = SlurmSite(commands, options)
    site.wait_for_answer()
    site.check_rights()
    shares = site.shares()
    home = read_home(site, Probing(commands, site.options), in_cores=shares)
    machine, running = home.twin.queue.machine, home.twin.running
    waiting = [(units, limit_s) for _, units, limit_s in home.twin.waiting]
    if home.corrected is not None:
        running, waiting = _taken(home.corrected, machine), []
    name, probes = home.partition.name, commands.calls.get("sbatch", 0)
    return QueueNow(site.cluster(), name, machine, running, waiting, home.most, site.most_jobs(), probes, shares)


def _taken(plan: QueueRead, machine: int) -> list[tuple[int, float]]:
    """Running jobs that leave free at most what the plan says: a node taken later counts as taken until then."""
    taken: list[tuple[int, float]] = []
    most = 0.0  # nodes taken at some later time
    for free, until in zip(reversed(plan.free[:-1]), reversed(plan.times[1:]), strict=True):
        if machine - free > most:
            taken.append((int(machine - free - most), until - plan.at))
            most = machine - free
    return [(nodes, left_s) for nodes, left_s in taken if nodes > 0 and left_s > 0]
