"""A small run in which each change of a file fails once: nothing is lost, and the run goes on or is resumed.

`faulty_disk.c` is preloaded into the processes of the run. Nobody names the changes: an undisturbed run lists them.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path

import pytest

from tests.chaos.disk_changes import compiled
from tests.chaos.flow import Torment
from tests.chaos.test_every_boundary import TASKS, small_run

PROCESSES = {"manager": "headway", "supervisor": "headway.workers.supervisor", "spawner": "spawner.py"}
ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)
OF_SQLITE = ("disk I/O error", "database or disk is full", "unable to open database file")
SLICES = 8


class FaultyDisk:
    """The library that is preloaded, and the changes of files that each process of an undisturbed run makes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._library = compiled(folder)
        self.changes = cache(self._changes)

    def plan(self, torment: Torment, process: str, number: int, error: int) -> dict[str, str]:
        words = (PROCESSES[process], number, error, torment.directory, torment.flag)
        return {"LD_PRELOAD": str(self._library), "FAULTY_DISK": ":".join(map(str, words))}

    def _changes(self, process: str) -> list[str]:
        torment = small_run(self._folder / process)
        assert torment.launch(**self.plan(torment, process, 0, 0)).wait(120) == 0, torment.output()
        return torment.flag.read_text().splitlines()


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> FaultyDisk:
    return FaultyDisk(tmp_path_factory.mktemp("disk"))


def fail(parent: Path, disk: FaultyDisk, process: str, number: int, error: int, *, stays: bool) -> None:
    """Let a change of a file fail, with `stays` all later ones too until the manager has ended; go on, and compare."""
    torment = small_run(parent)
    code = torment.launch(**disk.plan(torment, process, -number if stays else number, error)).wait(300)
    what = torment.flag.read_text() if torment.flag.exists() else "never reached"
    where = f"{process}, {os.strerror(error)} at {what}"
    said = torment.output()
    assert "Traceback" not in said and code in (0, 1, 3), f"{where}: code {code}: {said}"
    assert not code or any(words in said for words in (os.strerror(error), *OF_SQLITE)), f"{where}: {said}"
    torment.flag.unlink(missing_ok=True)
    if not torment.finished():
        torment.finish()
    assert torment.successes() == dict.fromkeys(TASKS, 1), where + torment.output()
    results = {path: text for path, text in torment.results().items() if path != "workflow.yaml"}
    assert results == {"one": "1\n", "two_1/a": "1\n", "two_2/a": "1\n"}, where
    assert set(torment.executed()) == TASKS, where
    if process == "manager" and not stays:  # a supervisor that cannot write results cannot keep them either
        assert set(torment.executed().values()) == {1}, where
    torment.check_no_supervisor()


@pytest.mark.parametrize(
    ("process", "part", "error", "stays"),
    [
        *(("manager", 0.07, errno.EIO, False), ("manager", 0.3, errno.EDQUOT, False)),
        *(("manager", 0.6, errno.ENOSPC, True), ("manager", 0.8, errno.EIO, False)),
        *(("supervisor", 0.4, errno.ENOSPC, True), ("supervisor", 0.7, errno.EIO, False)),
    ],
)
def test_a_change_that_fails(
    tmp_path: Path, disk: FaultyDisk, process: str, part: float, error: int, *, stays: bool
) -> None:
    fail(tmp_path, disk, process, 1 + int(part * len(disk.changes(process))), error, stays=stays)


def test_a_lock_that_cannot_be_written_is_a_sentence(tmp_path: Path, disk: FaultyDisk) -> None:
    numbers = [number for number, line in enumerate(disk.changes("manager"), 1) if line.endswith("/.headway/lock")]
    fail(tmp_path, disk, "manager", numbers[-1], errno.EIO, stays=False)


@pytest.mark.chaos
@pytest.mark.parametrize("slice_", range(SLICES))
@pytest.mark.parametrize("process", PROCESSES)
def test_every_change_fails_once(tmp_path: Path, disk: FaultyDisk, process: str, slice_: int) -> None:
    """Each in another way: with one of three errors, for once or until the manager has ended."""
    for number in range(1 + slice_, len(disk.changes(process)) + 1, SLICES):
        error, stays = ERRORS[number % len(ERRORS)], bool(number // len(ERRORS) % 2)
        fail(tmp_path / str(number), disk, process, number, error, stays=stays)
