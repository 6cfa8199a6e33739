"""Everything that is built in keeps its contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.clusters.base import Cluster
from headway.clusters.local import LocalMachine, RunJobs
from headway.clusters.simulated import SimulatedCluster
from headway.journal.base import Journal
from headway.journal.sqlite import SqliteJournal
from headway.kernels.batch.queue import BatchQueue
from headway.model.resources import Resources
from headway.sizing import SIZERS
from headway.sizing.base import Sizer
from headway.testing import ClusterContract, JournalContract, SizerContract


@pytest.mark.parametrize("name", sorted(SIZERS))
class TestSizers(SizerContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self, resource: str) -> Sizer:
        return SIZERS[self.name](resource)


class TestSqliteJournal(JournalContract):
    def make(self, path: Path) -> Journal:
        return SqliteJournal(path)


class TestLocalMachine(ClusterContract):
    def make(self, path: Path) -> Cluster:
        return LocalMachine(RunJobs("test", str(path), path / "jobs"))


class TestSimulatedCluster(ClusterContract):
    """Time stands still while the contract looks: a job of one node starts at once on an idle machine."""

    @pytest.fixture(autouse=True)
    def begin(self) -> None:
        self.clusters: dict[Path, Cluster] = {}

    def make(self, path: Path) -> Cluster:
        """Whoever comes to the same place meets the same cluster: its queue and its jobs are in memory."""
        if path not in self.clusters:
            node = Resources(cores=4, memory_bytes=16 * 10**9, disk_bytes=10**12)
            self.clusters[path] = SimulatedCluster(BatchQueue(8), node)
        return self.clusters[path]
