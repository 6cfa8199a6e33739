"""A small run whose manager, supervisor or spawner is killed before each thing that it does to the world outside.

Nobody names these boundaries: an undisturbed run lists them (`headway.crash_points`). Before one boundary is after the
one before, so that every state which a crash can leave behind is tried.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.chaos.flow import Torment

PROCESSES = ("manager", "supervisor", "spawner")
SLICES = 12  # of all boundaries of a process, so that they can be tried in parallel
SMALL = """
name: small
tasks:
  first:
    run: echo first >> "$EXECUTIONS"; echo 1 > one
    outputs: [one]
  second:
    each: {n: [1, 2]}
    run: echo "second[{n}]" >> "$EXECUTIONS"; mkdir two_{n}; cat one > two_{n}/a
    inputs: [one]
    outputs: ["two_{n}"]
  third:
    needs: [second]
    run: echo third >> "$EXECUTIONS"
"""
TASKS = {"first", "second[1]", "second[2]", "third"}


def small_run(parent: Path) -> Torment:
    torment = Torment(parent)
    (torment.directory / "workflow.yaml").write_text(SMALL)
    return torment


@pytest.fixture(scope="session")
def boundaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """List what each process does in a run that nothing disturbs."""
    found = {}
    for process in PROCESSES:
        torment = small_run(tmp_path_factory.mktemp(process))
        assert torment.launch(crash=f"{process}#0").wait(120) == 0, torment.output()
        found[process] = torment.flag.read_text().splitlines()
    return found


def crash(parent: Path, process: str, number: int) -> None:
    """Kill the process before this boundary, go on with the run, and compare."""
    torment = small_run(parent)
    manager = torment.launch(crash=f"{process}#{number}")
    code = manager.wait(300)
    where = f"{process}, boundary {number}: {torment.flag.read_text() if torment.flag.exists() else 'never reached'}"
    assert code == (-signal.SIGKILL if process == "manager" and torment.flag.exists() else 0), where + torment.output()
    if not torment.finished():
        torment.finish()
    assert torment.successes() == dict.fromkeys(TASKS, 1), where + torment.output()
    results = {path: text for path, text in torment.results().items() if path != "workflow.yaml"}
    assert results == {"one": "1\n", "two_1/a": "1\n", "two_2/a": "1\n"}, where
    if process == "manager":
        assert torment.executed() == dict.fromkeys(TASKS, 1), where


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.85])
@pytest.mark.parametrize("process", PROCESSES)
def test_a_crash_before_some_boundary(
    tmp_path: Path, boundaries: dict[str, list[str]], process: str, part: float
) -> None:
    crash(tmp_path, process, 1 + int(part * len(boundaries[process])))


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(SLICES))
@pytest.mark.parametrize("process", PROCESSES)
def test_a_crash_before_every_boundary(
    tmp_path: Path, boundaries: dict[str, list[str]], process: str, slice_: int
) -> None:
    for number in range(1 + slice_, len(boundaries[process]) + 1, SLICES):
        crash(tmp_path / str(number), process, number)
