"""Where a run's jobs go, and how its nodes are reached: from the run's own settings, so that a resume finds them."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, convert

from headway.clusters.base import Cluster
from headway.clusters.local import LocalMachine, Site
from headway.journal.folder import RunFolder
from headway.model.errors import InputError
from headway.model.records import RunStarted
from headway.workers.connection import Connections
from headway.workers.socket_connection import SocketConnections

LOCAL, SLURM = "local", "slurm"
CLUSTERS = (LOCAL, SLURM)
LINES = ("files", "dask")


class Supervision(Struct, frozen=True):
    """What supervisors have to know that is no setting of the run: it may differ when it is resumed."""

    linger_s: float = 600.0
    grace_s: float = 5.0
    measure: str = "auto"


class Place(NamedTuple):
    """A cluster, lines to the nodes of jobs there, and what their supervisors are told."""

    cluster: Cluster
    lines: Connections
    site: Site

    def prepare(self) -> None:
        """Leave the order for supervisors where those of a batch job look for it."""
        self.site.jobs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.site.order("").write(self.site.jobs)
        (self.site.jobs / "order.json").chmod(0o600)


def place_of(settings: RunStarted, folder: RunFolder, supervision: Supervision, *, lenient: bool = False) -> Place:
    """Where that run's jobs are."""
    site = Site(
        settings.uid,
        str(folder.directory),
        folder.jobs,
        supervision.linger_s,
        supervision.grace_s,
        supervision.measure,
    )
    if settings.cluster == LOCAL:
        return Place(LocalMachine(site, settings.stated, lenient=lenient), SocketConnections(folder.jobs), site)
    if settings.cluster != SLURM:
        raise InputError(f"there is no cluster called {settings.cluster!r}", todo=f"choose {' or '.join(CLUSTERS)}")

    from headway.clusters.slurm.cluster import SlurmCluster
    from headway.clusters.slurm.options import SlurmOptions
    from headway.workers.file_connection import FileConnections

    batch = dict(settings.batch)
    kind = batch.pop("lines", LINES[0])
    lines: Connections
    if kind == "dask":
        from headway.workers.pool.connections import DaskConnections

        lines = DaskConnections(folder.jobs, folder.path / "pool", linger_s=supervision.linger_s)
    else:
        lines = FileConnections(folder.jobs)
    flags = tuple(batch.pop("flags", "").split())
    options = convert({**batch, "flags": flags}, SlurmOptions, strict=False)
    return Place(SlurmCluster(site, options, lines.node_command), lines, site)
