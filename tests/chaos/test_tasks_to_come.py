"""A thousand tasks that become known while the run goes on, with ten kills of its manager."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.project import Flow
from tests.end_to_end.test_tasks_to_come import WORKFLOW, expected, killed, once, total
from tests.slurm.conftest import require_slurm
from tests.slurm.lab import SlurmLab
from tests.slurm.test_tasks_to_come import killed as killed_on_slurm

TASKS, KILLS = 1000, 10
pytestmark = pytest.mark.chaos


def test_a_thousand_tasks_on_one_machine(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    assert killed(flow, TASKS, KILLS, seed=7) == KILLS
    assert total(flow) == expected(TASKS)
    assert len(once(flow)) == 3 * TASKS + 2
    assert set(once(flow).values()) == {1}


def test_a_thousand_tasks_on_slurm(tmp_path: Path) -> None:
    require_slurm()
    with SlurmLab() as lab:
        assert killed_on_slurm(lab, tmp_path, TASKS, KILLS, seed=7) == KILLS
