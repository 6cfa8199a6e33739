"""Targets: the cluster that a run's jobs go to, and the connections to its nodes.

Both follow from the run's settings alone, so that a resumed run finds its jobs again.
"""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from headway.clusters.base import Cluster
from headway.clusters.local import LocalMachine, RunJobs
from headway.drivers.run_settings import IN_JOB, LOCAL, POOL, RunSettings
from headway.journal.folder import RunFolder
from headway.model.errors import InputError
from headway.model.records import RunStarted
from headway.registry import WithPlugins, added_names
from headway.workers.connection import Connections
from headway.workers.protocol import Join
from headway.workers.socket_connection import SocketConnections

SLURM = "slurm"
_PLUGINS = "headway.clusters"

# Makes the cluster of a plugin from the run's job folders, the options for the batch system, and a function that
# returns the command that a job with some tag has to run on each of its nodes.
MakeCluster = Callable[[RunJobs, Mapping[str, str], Callable[[str], Sequence[str]]], Cluster]


class Target(NamedTuple):
    """A cluster, the connections to the nodes of jobs there, and what their supervisors are told."""

    cluster: Cluster
    connections: Connections
    jobs: RunJobs

    def prepare(self) -> None:
        """Write the order for supervisors where those of a batch job look for it."""
        self.jobs.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.jobs.order("").write(self.jobs.folder)


def check_cluster(name: str) -> None:
    """Raise an `InputError` that lists the names if there is no cluster of that name."""
    if name not in (LOCAL, SLURM) and name not in (added := added_names(_PLUGINS)):
        todo = f"choose one of {', '.join([LOCAL, SLURM, *added])}"
        raise InputError(f"there is no cluster called {name!r}", where="--on", todo=todo)


def target_of(settings: RunStarted, folder: RunFolder, options: RunSettings, *, lenient: bool = False) -> Target:
    """The target of a run; a `lenient` one accepts that the machine now has less than the settings state."""
    told = (options.linger_s, options.grace_s, options.measure)
    jobs = RunJobs(settings.uid, str(folder.directory), folder.jobs, *told)
    if settings.cluster == LOCAL:
        return Target(LocalMachine(jobs, settings.stated, lenient=lenient), SocketConnections(folder.jobs), jobs)
    if settings.cluster == POOL:
        return _pooled(settings, folder, jobs, lenient=lenient)
    from headway.workers.file_connection import FileConnections

    if settings.cluster != SLURM:
        check_cluster(settings.cluster)
        plugins = WithPlugins[MakeCluster](_PLUGINS, {})
        files = FileConnections(folder.jobs)
        return Target(plugins[settings.cluster](jobs, settings.batch, files.node_command), files, jobs)

    from headway.clusters.slurm.cluster import SlurmCluster
    from headway.clusters.slurm.options import options_of

    batch = dict(settings.batch)
    connections: Connections
    if batch.pop("lines", "") == "dask":
        from headway.workers.pool.connections import DaskConnections

        connections = DaskConnections(folder.jobs, folder.path / "pool", linger_s=options.linger_s)
    else:
        connections = FileConnections(folder.jobs)
    asked = structs.replace(options_of(batch), managed_in_job=options.manager == IN_JOB)
    return Target(SlurmCluster(jobs, asked, connections.node_command), connections, jobs)


def _pooled(settings: RunStarted, folder: RunFolder, jobs: RunJobs, *, lenient: bool) -> Target:
    from headway.clusters.pooled import PooledCluster
    from headway.workers.pool_place import PoolPlace
    from headway.workers.pooled_connection import PooledConnections

    place = PoolPlace.of(settings.batch[POOL])
    cluster = PooledCluster(jobs, place, settings.stated, lenient=lenient)
    home = str(folder.jobs / "home.json")
    join = Join(settings.uid, settings.name, str(folder.directory), folder.run, home, getpass.getuser())
    return Target(cluster, PooledConnections(folder.jobs, place, join, cluster.part), jobs)
