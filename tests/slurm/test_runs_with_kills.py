"""Managers killed on a real Slurm: a resumed run finds its jobs by their tags."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from headway.crash_points import MANAGER_POINTS
from headway.journal.folder import Project
from tests.slurm.flows import STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab

POINTS = [f"{point}:1" for point in MANAGER_POINTS] + ["journalled:4", "launched:4", "ended:5", "submitted:2"]


@pytest.fixture(scope="module")
def flows(slurm_of_session: SlurmLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SlurmFlow]:
    """For each crash point, finish a run that was killed there and resumed; all at once."""
    slurm_of_session.tidy()
    flows: dict[str, SlurmFlow] = {}
    managers = {}
    for point in POINTS:
        directory = tmp_path_factory.mktemp("killed")
        flows[point] = SlurmFlow(slurm_of_session, directory)
        managers[point] = flows[point].begin("--plan", "per-stage", HEADWAY_CRASH=f"{point}:{directory}/crashed")
    for point, flow in flows.items():
        flow.await_end(managers[point], -signal.SIGKILL)
        begun = Project(flow.directory).runs()
        managers[point] = flow.start("resume") if begun else flow.begin("--plan", "per-stage")
    for point, flow in flows.items():
        flow.await_end(managers[point])
    return flows


@pytest.mark.parametrize("point", POINTS)
def test_manager_killed_at_a_named_point(flows: dict[str, SlurmFlow], point: str) -> None:
    flow = flows[point]
    assert flow.total() == STAGES_TOTAL
    flow.check()
    assert set(flow.executed().values()) == {1}
    assert sorted(flow.jobs_ever()) == sorted(flow.submitted())  # each job was submitted exactly once


def test_cancel_ends_a_job_whose_submission_was_not_recorded(slurm: SlurmLab, tmp_path: Path) -> None:
    """The manager was killed before it recorded the answer of sbatch."""
    flow = SlurmFlow(slurm, tmp_path)
    flow.await_end(flow.begin(HEADWAY_CRASH=f"submitted:1:{tmp_path}/crashed"), -signal.SIGKILL)
    assert flow.jobs()
    flow.headway("cancel")
    flow.check_queue()
