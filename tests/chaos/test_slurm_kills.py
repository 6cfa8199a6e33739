"""Managers killed on a real Slurm: every job is found again by its tag, and no job is submitted twice."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headway.crash_points import MANAGER_POINTS
from headway.journal.folder import Project
from headway.model.records import Finish
from tests import kills
from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import PATIENCE_S, STAGES_TOTAL, SlurmFlow
from tests.slurm.lab import SlurmLab

SEEDS = 10
KILLS = 10  # per seed
AT_ONCE = 4  # parallel runs, which mostly wait
PLANS = ("headway", "per-stage", "big-job")


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_run_survives_kills_of_its_managers_on_slurm(tmp_path: Path, seed: int) -> None:
    require_slurm()
    died = 0
    with SlurmLab(Configuration(nodes=4, min_job_age_s=3600)) as lab:
        for part in range(10):  # a run that ends early has had few managers killed
            names = [f"{part}-{one}" for one in range(AT_ONCE)]
            flows = [SlurmFlow(lab, _made(tmp_path / name)) for name in names]
            draws = [random.Random(f"{seed}/{name}") for name in names]
            with ThreadPoolExecutor(AT_ONCE) as threads:
                died += kills.add(sum(threads.map(torment, flows, draws)))
            for flow in flows:
                check(flow)
            if died >= KILLS:
                break
    assert died >= KILLS


def torment(flow: SlurmFlow, draw: random.Random) -> int:
    """Kill some managers of a run, at a crash point or a random moment, finish it, and return how many were killed."""
    plan = draw.choice(PLANS)
    died = 0
    for turn in range(4):
        if draw.random() < 0.5:
            point = f"{draw.choice(MANAGER_POINTS)}:{draw.randint(1, 4)}:{flow.directory.parent}/crashed-{turn}"
            manager = go_on(flow, plan, HEADWAY_CRASH=point)
            manager.wait(PATIENCE_S)
        else:
            manager = go_on(flow, plan)
            with contextlib.suppress(subprocess.TimeoutExpired):
                manager.wait(draw.uniform(0.5, 8.0))
            manager.kill()
            manager.wait()
        assert manager.returncode in (0, -signal.SIGKILL), flow.output()
        died += manager.returncode != 0
        if any(
            isinstance(record, Finish) for record in flow.records()
        ):  # the last manager died after the run had finished
            return died
    flow.await_end(go_on(flow, plan))
    return died


def go_on(flow: SlurmFlow, plan: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start another manager."""
    if Project(flow.directory).runs():
        return flow.start("resume", **environment)
    return flow.begin("--plan", plan, **environment)


def check(flow: SlurmFlow) -> None:
    assert flow.total() == STAGES_TOTAL
    flow.check()
    assert set(flow.executed().values()) == {1}
    assert sorted(flow.jobs_ever()) == sorted(flow.submitted())  # each job was submitted exactly once


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
