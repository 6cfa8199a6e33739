"""Runs whose managers or supervisors are killed: after a resume, no task is lost and no task succeeds twice."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from headway.crash_points import MANAGER_POINTS, SUPERVISOR_POINTS
from tests.chaos.flow import Torment, torment_managers, undisturbed

SOME = 1  # run, with about ten kills
MANY = 50
ONCE_A_RUN = ("run-created", "submitted", "released")


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("seed", range(SOME))
def test_managers_killed_at_random_points(tmp_path: Path, expected: dict[str, str], seed: int) -> None:
    died = 0
    for part in range(6):  # on a fast machine, one run ends before ten managers are killed
        died += torment_managers(tmp_path / str(part), expected, kills=10 - died, seed=100 * seed + part)
        if died >= 10:
            break
    assert died >= 10


@pytest.mark.parametrize(
    ("point", "count"),
    [
        *((point, 1) for point in MANAGER_POINTS),
        *(pytest.param(point, 9, marks=pytest.mark.chaos) for point in MANAGER_POINTS if point not in ONCE_A_RUN),
    ],
)
def test_manager_killed_at_a_named_point(tmp_path: Path, expected: dict[str, str], point: str, count: int) -> None:
    torment = Torment(tmp_path)
    manager = torment.launch(crash=f"{point}:{count}")
    assert manager.wait(120) == -signal.SIGKILL, torment.output()
    assert torment.flag.exists()
    torment.finish()
    torment.check(expected, once=True)


@pytest.mark.parametrize("count", [1, pytest.param(9, marks=pytest.mark.chaos)])
@pytest.mark.parametrize("point", SUPERVISOR_POINTS)
def test_supervisor_killed_at_a_named_point(tmp_path: Path, expected: dict[str, str], point: str, count: int) -> None:
    torment = Torment(tmp_path)
    manager = torment.launch(crash=f"{point}:{count}")
    assert manager.wait(120) == 0, torment.output()
    assert torment.flag.exists(), "the supervisor never reached the crash point"
    torment.check(expected, once=False)


@pytest.mark.parametrize("point", SUPERVISOR_POINTS)
def test_manager_and_supervisor_killed_together(tmp_path: Path, expected: dict[str, str], point: str) -> None:
    torment = Torment(tmp_path)
    manager = torment.launch(crash=f"{point}:5")
    deadline = time.monotonic() + 60
    while not torment.flag.exists():
        assert time.monotonic() < deadline and manager.poll() is None, torment.output()
        time.sleep(0.002)
    manager.kill()
    manager.wait()
    torment.finish()
    torment.check(expected, once=False)


@pytest.mark.parametrize("seed", range(2))
def test_supervisors_killed_at_random_points(tmp_path: Path, expected: dict[str, str], seed: int) -> None:
    draw = random.Random(seed)
    torment = Torment(tmp_path)
    manager = torment.launch()
    killed = 0
    while manager.poll() is None and killed < 3:
        time.sleep(draw.uniform(0.1, 0.5))
        for pid in torment.supervisors():
            os.kill(pid, signal.SIGKILL)
            killed += 1
    assert manager.wait(120) == 0, torment.output()
    assert killed
    torment.check(expected, once=False)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(1000, 1000 + MANY))
def test_many_managers_killed_at_random_points(tmp_path: Path, expected: dict[str, str], seed: int) -> None:
    test_managers_killed_at_random_points(tmp_path, expected, seed)
