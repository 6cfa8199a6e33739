"""Real Slurms for the tests of this folder.

The tests form four groups. One worker of pytest-xdist runs all tests of a group, so at most four start Slurms. These
tests mostly wait, so that all groups can run beside other tests on a machine with two cores.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.configuration import Configuration, cgroup_obstacle
from tests.slurm.lab import SlurmLab, missing_commands

# The files of three groups; those of each take about as long as all others together.
OF_CLOCKS = {  # each of these tests has a Slurm of its own with a fast clock
    "test_backfill.py",
    "test_chains.py",
    "test_slow_nodes.py",
    "test_strips.py",
}
OF_CLUSTERS = {
    "test_cluster.py",
    "test_cluster_plan.py",
    "test_enforcement.py",
    "test_fast.py",
    "test_lab.py",
    "test_lies.py",
    "test_login_node.py",
    "test_narrowing.py",
    "test_plan.py",
    "test_spanning.py",
    "test_strangers.py",
}
OF_SITES = {
    "test_good_citizen.py",
    "test_interventions.py",
    "test_looking.py",
    "test_shares.py",
    "test_sites.py",
    "test_unlike_sites.py",
}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent) and item.path.name != "test_cluster_parsing.py":
                item.add_marker(pytest.mark.xdist_group(_group(item.path.name)))


def _group(file: str) -> str:
    if file in OF_CLUSTERS:
        return "slurm clusters"
    if file in OF_CLOCKS:
        return "slurm clocks"
    return "slurm sites" if file in OF_SITES else "slurm runs"


def require_slurm(*, with_accounting: bool = False, with_fast_clock: bool = False) -> None:
    """Fail the test if Slurm's packages are missing; skip it instead for users who cannot install them (not root)."""
    missing = missing_commands(with_accounting=with_accounting, with_fast_clock=with_fast_clock)
    if missing:
        said = f"the tests with a real Slurm need the commands {', '.join(missing)}: run tests/packages.sh as root"
        if os.geteuid() == 0:
            pytest.fail(said)
        pytest.skip(said)


@pytest.fixture(scope="session")
def slurm_of_session() -> Iterator[SlurmLab]:
    require_slurm()
    with SlurmLab() as lab:
        yield lab


@pytest.fixture(scope="session")
def accounting_slurm_of_session() -> Iterator[SlurmLab]:
    require_slurm(with_accounting=True)
    with SlurmLab(Configuration(accounting=True)) as lab:
        yield lab


@pytest.fixture(scope="session")
def cgroup_slurm_of_session() -> Iterator[SlurmLab]:
    require_slurm()
    if obstacle := cgroup_obstacle():
        pytest.skip(obstacle)
    with SlurmLab(Configuration(enforcement="cgroup")) as lab:
        yield lab


@pytest.fixture
def slurm(slurm_of_session: SlurmLab) -> SlurmLab:
    """A Slurm with an empty queue and 8 idle nodes of 8 CPUs and 16 GB, with OverMemoryKill and without slurmdbd."""
    slurm_of_session.tidy()
    return slurm_of_session


@pytest.fixture
def slurm_with_accounting(accounting_slurm_of_session: SlurmLab) -> SlurmLab:
    """The same Slurm with slurmdbd and MariaDB."""
    accounting_slurm_of_session.tidy()
    return accounting_slurm_of_session


@pytest.fixture
def slurm_with_cgroups(cgroup_slurm_of_session: SlurmLab) -> SlurmLab:
    """The same Slurm without slurmdbd, with memory limited by cgroups; skips the test if cgroups are not available."""
    cgroup_slurm_of_session.tidy()
    return cgroup_slurm_of_session
