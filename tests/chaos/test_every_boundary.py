"""A small run whose manager, supervisor or spawner is killed before each thing that it does to the world outside.

Nobody names these boundaries: an undisturbed run lists them (`headway.crash_points`). Before one boundary is after the
one before, so that every state which a crash can leave behind is tried. The process that takes over is killed too.
"""

from __future__ import annotations

import signal
from functools import cache
from pathlib import Path

import pytest

from tests import kills
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
# What a process is about to do when it is killed for the first time, and how many times it has done that before. After
# each of these the process that takes over is killed before every one of its own boundaries; before every third where
# it does all from the beginning.
FIRST_CRASHES = (
    *(("manager", "journal.db.new", 2), ("manager", "submitted", 0), ("manager", "launched", 1)),
    *(("manager", "ended", 2), ("manager", "released", 0), ("manager", "logs.db", 0)),
    *(("supervisor", "claimed", 0), ("supervisor", "renamed", 1), ("spawner", "os.fork", 1)),
)
FROM_THE_BEGINNING = ("journal.db.new", "claimed")


def small_run(parent: Path) -> Torment:
    torment = Torment(parent)
    (torment.directory / "workflow.yaml").write_text(SMALL)
    return torment


class Boundaries:
    """What the processes of a small run do, as they list it themselves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.of = cache(self._of)

    def _of(self, process: str, *crashes: int) -> list[str]:
        """List what a process does in a run that nothing else disturbs, after crashes of the processes before it."""
        torment = small_run(self._folder / "-".join(map(str, [process, *crashes])))
        plan = "+".join(map(str, [*crashes, 0]))
        for _ in range(1 + len(crashes) if process == "manager" else 1):
            torment.launch(crash=f"{process}#{plan}").wait(300)
        assert torment.finished(), torment.output()
        return torment.crashed(len(crashes) + 1).read_text().splitlines()

    def find(self, process: str, name: str, before: int) -> int:
        """Return the number of the boundary of this name that comes after so many others of that name."""
        found = [number for number, line in enumerate(self.of(process), 1) if name in line]
        return found[before]


@pytest.fixture(scope="session")
def boundaries(tmp_path_factory: pytest.TempPathFactory) -> Boundaries:
    return Boundaries(tmp_path_factory.mktemp("boundaries"))


def crash(parent: Path, process: str, *numbers: int) -> None:
    """Kill the process before this boundary, and the one that takes over before the next; go on, and compare."""
    torment = small_run(parent)
    plan = "+".join(map(str, numbers))
    for turn in range(1, len(numbers) + 1) if process == "manager" else [len(numbers)]:
        code = torment.launch(crash=f"{process}#{plan}").wait(300)
        died = torment.crashed(turn).exists()
        where = f"{process}, {plan}: {torment.crashed(turn).read_text() if died else 'never reached'}"
        assert code == (-signal.SIGKILL if process == "manager" and died else 0), where + torment.output()
        if torment.finished():
            break
    else:
        torment.finish()
    assert torment.successes() == dict.fromkeys(TASKS, 1), where + torment.output()
    results = {path: text for path, text in torment.results().items() if path != "workflow.yaml"}
    assert results == {"one": "1\n", "two_1/a": "1\n", "two_2/a": "1\n"}, where
    if process == "manager":
        assert torment.executed() == dict.fromkeys(TASKS, 1), where
    torment.check_no_supervisor()
    kills.add(sum(torment.crashed(turn).exists() for turn in range(1, len(numbers) + 1)))


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.85])
@pytest.mark.parametrize("process", PROCESSES)
def test_a_crash_before_some_boundary(tmp_path: Path, boundaries: Boundaries, process: str, part: float) -> None:
    crash(tmp_path, process, 1 + int(part * len(boundaries.of(process))))


@pytest.mark.parametrize(("process", "name", "before"), [FIRST_CRASHES[2], FIRST_CRASHES[6]])
def test_a_crash_and_another_one_of_the_process_that_takes_over(
    tmp_path: Path, boundaries: Boundaries, process: str, name: str, before: int
) -> None:
    first = boundaries.find(process, name, before)
    count = len(boundaries.of(process, first))
    assert count > 10
    for part in (0.3, 0.7):
        crash(tmp_path / str(part), process, first, 1 + int(part * count))


def test_a_crash_between_the_decision_to_give_the_last_job_back_and_doing_it(
    tmp_path: Path, boundaries: Boundaries
) -> None:
    """The run has nothing more to do then, and its supervisor must still be told to end."""
    crash(tmp_path, "manager", boundaries.find("manager", "released", 0) - 1)


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(SLICES))
@pytest.mark.parametrize("process", PROCESSES)
def test_a_crash_before_every_boundary(tmp_path: Path, boundaries: Boundaries, process: str, slice_: int) -> None:
    for number in range(1 + slice_, len(boundaries.of(process)) + 1, SLICES):
        crash(tmp_path / str(number), process, number)


@pytest.mark.chaos
@pytest.mark.parametrize(("process", "name", "before"), FIRST_CRASHES)
def test_a_crash_and_another_one_before_every_boundary_of_the_process_that_takes_over(
    tmp_path: Path, boundaries: Boundaries, process: str, name: str, before: int
) -> None:
    first = boundaries.find(process, name, before)
    step = 3 if name in FROM_THE_BEGINNING else 1
    for number in range(1, len(boundaries.of(process, first)) + 1, step):
        crash(tmp_path / str(number), process, first, number)
