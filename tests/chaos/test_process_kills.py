"""Runs whose spawners or supervisors are killed: they are replaced, and no command that has ended runs again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.chaos.flow import Torment, torment_spawners, torment_supervisors, undisturbed, wait_for_end

SOME, MANY = 2, 14  # runs
KILLS = 10  # in each, at most
# Who dies with a supervisor, at the same moment.
DIE_TOGETHER = {
    "alone": (),
    "with its spawner": ("spawner",),
    "with everything but tasks": ("spawner", "manager"),
}
KILLER = """
name: killer
tasks:
  killer:
    run: |
      echo killer >> $EXECUTIONS
      spawner=$(cut -d' ' -f4 /proc/$PPID/stat)
      supervisor=$(cut -d' ' -f4 /proc/$spawner/stat)
      if grep -q headway.workers.supervisor /proc/$supervisor/cmdline; then kill -9 $supervisor; fi
      sleep 600
  other:
    run: sleep 0.1
"""


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("seed", range(SOME))
def test_spawners_killed_at_random_points(tmp_path: Path, expected: dict[str, str], seed: int) -> None:
    assert torment_spawners(tmp_path, expected, KILLS, seed)


@pytest.mark.parametrize("also", DIE_TOGETHER.values(), ids=DIE_TOGETHER)
def test_commands_that_ended_without_a_supervisor_do_not_run_again(
    tmp_path: Path, expected: dict[str, str], also: tuple[str, ...]
) -> None:
    died, part = 0, 0
    while died < KILLS:
        died += torment_supervisors(tmp_path / str(part), expected, KILLS - died, seed=part, also=also)
        part += 1


def test_a_lone_task_is_not_blamed_for_the_deaths_of_its_supervisors(tmp_path: Path) -> None:
    """On one machine they say nothing of the task."""
    torment = Torment(tmp_path)
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    flow = f"name: lone\ntasks:\n  long:\n    run: echo long >> $EXECUTIONS; {wait}\n"
    (torment.directory / "workflow.yaml").write_text(flow)
    manager = torment.launch()
    for count in range(6):
        while torment.count_started() == count:
            assert manager.poll() is None, torment.output()
            time.sleep(0.02)
        for pid in torment.supervisors():
            os.kill(pid, signal.SIGKILL)
            wait_for_end([pid])
    while torment.count_started() == 6:
        assert manager.poll() is None, torment.output()
        time.sleep(0.02)
    (tmp_path / "go").touch()
    assert manager.wait(300) == 0, torment.output()
    assert torment.successes() == {"long": 1}


@pytest.mark.chaos
def test_a_task_that_kills_its_own_supervisors_is_given_up(tmp_path: Path) -> None:
    torment = Torment(tmp_path)
    (torment.directory / "workflow.yaml").write_text(KILLER)
    manager = torment.launch()
    assert manager.wait(600) == 1, torment.output()
    assert "20 supervisors in a row" in torment.output()
    assert torment.executed() == {"killer": 20}
    assert torment.successes() == {"other": 1}


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(1000, 1000 + MANY))
def test_many_spawners_killed_at_random_points(tmp_path: Path, expected: dict[str, str], seed: int) -> None:
    died = sum(torment_spawners(tmp_path / str(part), expected, KILLS, 10 * seed + part) for part in range(2))
    assert died >= KILLS


@pytest.mark.chaos
@pytest.mark.parametrize("also", DIE_TOGETHER.values(), ids=DIE_TOGETHER)
@pytest.mark.parametrize("seed", range(1000, 1000 + 20))
def test_many_supervisors_killed_at_random_points(
    tmp_path: Path, expected: dict[str, str], seed: int, also: tuple[str, ...]
) -> None:
    died, part = 0, 0
    while died < KILLS:
        died += torment_supervisors(tmp_path / str(part), expected, KILLS - died, 100 * seed + part, also)
        part += 1
