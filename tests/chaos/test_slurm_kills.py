"""Managers killed at random moments on a real Slurm: every job is found again by its tag, none is asked for twice."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from headway.journal.folder import Project
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab

KILLS = 5
SEEDS = 20


@pytest.mark.chaos
@pytest.mark.xdist_group("slurm")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_managers_killed_at_random_moments(tmp_path: Path, seed: int) -> None:
    require_slurm()
    draw = random.Random(seed)
    died = 0
    with SlurmLab(Configuration(nodes=4)) as lab:
        for part in range(6):  # a fast machine finishes before so many have died
            (tmp_path / str(part)).mkdir()
            flow = SlurmFlow(lab, tmp_path / str(part))
            died += torment(flow, KILLS - died, draw)
            assert flow.total() == STAGES_TOTAL
            flow.check()
            assert set(flow.executed().values()) == {1}
            assert sorted(flow.jobs_ever()) == sorted(flow.submitted())
            if died >= KILLS:
                return
    assert died >= KILLS


def torment(flow: SlurmFlow, kills: int, draw: random.Random) -> int:
    """Kill at most so many managers of a run, then let it end; how many died."""
    died = 0
    while True:
        begun = Project(flow.directory).runs()
        manager = flow.start("resume") if begun else flow.begin("--plan", draw.choice(("headway", "per-stage")))
        if died == kills:
            flow.await_end(manager)
            return died
        try:
            manager.wait(draw.uniform(0.5, 6.0))
        except subprocess.TimeoutExpired:
            manager.kill()
            manager.wait()
            died += 1
        else:
            assert manager.returncode == 0, flow.output()
            return died
