"""Every built-in policy, journal and cluster keeps its contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.clusters.base import Cluster
from headway.clusters.local import LocalMachine, RunJobs
from headway.clusters.simulated import SimulatedCluster
from headway.drivers.assemble import sizers
from headway.journal.base import Journal
from headway.journal.sqlite import SqliteJournal
from headway.kernels.batch.queue import BatchQueue
from headway.model.resources import Resources
from headway.ordering import ORDERS
from headway.ordering.base import Order
from headway.planning import PLANS
from headway.planning.base import Estimate, Planner
from headway.sizing.base import Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Estimator
from headway.sizing.estimators.censored import Censored
from headway.testing import (
    ClusterContract,
    EstimatorContract,
    OrderContract,
    PlannerContract,
    SizerContract,
)
from tests.contract.journal_contract import JournalContract

ESTIMATORS = {
    name: sizer.estimator
    for name, make in sizers().items()
    if isinstance(sizer := make("memory_bytes"), EstimatedSizer)
}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
class TestEstimators(EstimatorContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Estimator:
        estimator = ESTIMATORS[self.name]
        if isinstance(estimator, Censored):
            return Censored(type(estimator.known)())
        return type(estimator)()


@pytest.mark.parametrize("name", sorted(sizers()))
class TestSizers(SizerContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self, resource: str) -> Sizer:
        return sizers()[self.name](resource)


@pytest.mark.parametrize("name", sorted(ORDERS))
class TestOrders(OrderContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self) -> Order:
        return ORDERS[self.name]()


@pytest.mark.parametrize("name", sorted(PLANS))
class TestPlanners(PlannerContract):
    @pytest.fixture(autouse=True)
    def choose(self, name: str) -> None:
        self.name = name

    def make(self, estimate: Estimate) -> Planner:
        return PLANS[self.name](estimate)


class TestSqliteJournal(JournalContract):
    def make(self, path: Path) -> Journal:
        return SqliteJournal(path)


class TestLocalMachine(ClusterContract):
    def make(self, path: Path) -> Cluster:
        return LocalMachine(RunJobs("test", str(path), path / "jobs"))


class TestSimulatedCluster(ClusterContract):
    """Virtual time does not pass during a test: on an idle machine a job of one node starts at once."""

    @pytest.fixture(autouse=True)
    def begin(self) -> None:
        self.clusters: dict[Path, Cluster] = {}

    def make(self, path: Path) -> Cluster:
        """Return the same cluster for the same path, since its queue and its jobs are in memory."""
        if path not in self.clusters:
            node = Resources(cores=4, memory_bytes=16 * 10**9, disk_bytes=10**12)
            self.clusters[path] = SimulatedCluster(BatchQueue(8), node)
        return self.clusters[path]
