"""A small run through files or over Dask: each process that carries its messages is killed before all that it does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests import kills
from tests.chaos.flow import Torment, wait_for_end
from tests.chaos.one_host import supervisors
from tests.chaos.test_every_boundary import TASKS, small_run

SLICES = 6
KINDS = {"relay": "files", "dask-relay": "dask", "dask-scheduler": "dask"}


def run(parent: Path, process: str, crash: str) -> Torment:
    """Run the workflow and kill a process before a boundary or at a point; messages that were on their way are lost."""
    if KINDS[process] == "dask":
        pytest.importorskip("distributed")
    torment = small_run(parent)
    temporary = parent / "temporary"
    temporary.mkdir()
    words = {"module": "tests.chaos.one_host", "PYTHONPATH": str(Path(__file__).parents[2])}
    words |= {"RELAY": KINDS[process], "TMPDIR": str(temporary)}
    code = torment.launch(crash=crash, **words).wait(300)
    for pid in supervisors(torment.directory):
        os.kill(pid, signal.SIGTERM)
        wait_for_end([pid])
    where = f"{crash}: {torment.flag.read_text() if torment.flag.exists() else 'never reached'}\n"
    assert code == 0, where + torment.output()
    assert torment.successes() == dict.fromkeys(TASKS, 1), where + torment.output()
    assert torment.executed() == dict.fromkeys(TASKS, 1), where
    kills.add(not crash.endswith("#0") and torment.flag.exists())
    return torment


@pytest.fixture(scope="session")
def boundaries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """List what a process does in a run that nothing disturbs."""
    folder = tmp_path_factory.mktemp("relay")

    @cache
    def listed(process: str) -> list[str]:
        torment = run(folder / process, process, f"{process}#0")
        assert list((folder / process / "temporary").iterdir()) == []
        return torment.flag.read_text().splitlines()

    return listed


@pytest.mark.parametrize("process", ["relay", "dask-relay"])
def test_a_relay_killed_with_messages_in_its_hands(tmp_path: Path, process: str) -> None:
    """The manager repeats them when it notices that another relay has taken over."""
    assert run(tmp_path, process, "messages-read:2").flag.exists()


def test_a_scheduler_of_dask_killed_as_it_starts(tmp_path: Path) -> None:
    """The manager starts another one."""
    assert run(tmp_path, "dask-scheduler", "dask-scheduler#1").flag.exists()


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(SLICES))
@pytest.mark.parametrize("process", KINDS)
def test_a_relay_killed_before_every_boundary(
    tmp_path: Path, boundaries: Callable[[str], list[str]], process: str, slice_: int
) -> None:
    for number in range(1 + slice_, len(boundaries(process)) + 1, SLICES):
        run(tmp_path / str(number), process, f"{process}#{number}")
