"""Every write of a journal fails once: what was durable stays, and nothing half written is taken for a journal."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.journal.sqlite import SqliteJournal
from headway.model.errors import SiteError
from headway.model.records import ReadInputs
from tests.end_to_end.project import Flow, wait_until

WORKFLOW = "name: r\ntasks:\n  a:\n    run: echo said; echo made > out\n    outputs: [out]\n"
FIRST = [ReadInputs(float(number), f"task {number} {'x' * 100}") for number in range(200)]


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """Let every write fail that would make a file longer, as on a full disk or beyond a quota."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_journal_that_cannot_be_created_leaves_nothing(tmp_path: Path) -> None:
    failed = 0
    for number, limit in enumerate(range(0, 80_000, 1024)):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            with files_of_at_most(limit):
                SqliteJournal.create(folder / "journal.db", FIRST).close()
        except SiteError as error:
            failed += 1
            assert len(str(error).splitlines()) == 1
        left = [path.name for path in folder.iterdir()]
        assert left in ([], ["journal.db"]) or "journal.db" in left
        if left:
            assert list(SqliteJournal(folder / "journal.db", read_only=True).replay()) == FIRST
    assert failed > 10


def test_an_append_that_fails_loses_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    failed = 0
    for number, limit in enumerate(range(1024, 80_000, 1024)):
        path = tmp_path / f"{number}.db"
        journal = SqliteJournal(path)
        journal.append(FIRST[:3])
        try:
            with files_of_at_most(limit):
                for start in range(3, 200, 20):
                    journal.append(FIRST[start : start + 20])
        except SiteError as error:
            failed += 1
            assert "headway resume" in str(error)
        found = list(journal.replay())
        assert found == FIRST[: len(found)] and len(found) >= 3 and (len(found) - 3) % 20 in (0, 17)
        journal.append([ReadInputs(0.0, "after")])
        journal.close()
        again = SqliteJournal(path, read_only=True)
        assert list(again.replay()) == [*found, ReadInputs(0.0, "after")]
        again.close()
    assert failed > 5


def test_a_journal_whose_writer_died_in_the_middle_of_a_write_is_read(tmp_path: Path) -> None:
    """On network file systems there is no write-ahead log: what was begun has to be undone before one can read."""
    path = tmp_path / "journal.db"
    SqliteJournal.create(path, FIRST).close()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=DELETE")
    database.execute("PRAGMA cache_size=1")
    database.execute("BEGIN IMMEDIATE")
    database.execute("UPDATE records SET body = 'torn'")  # more than the cache holds: the file is changed already
    for name in ("journal.db", "journal.db-journal"):
        (tmp_path / "dead").mkdir(exist_ok=True)
        shutil.copy(tmp_path / name, tmp_path / "dead" / name)
    database.close()
    assert b"torn" in (tmp_path / "dead" / "journal.db").read_bytes()
    journal = SqliteJournal(tmp_path / "dead" / "journal.db", read_only=True)
    assert list(journal.replay()) == FIRST
    journal.close()


def _is_read_only(disk: Path) -> bool:
    """Try to make a file system read-only; a supervisor that is about to end may still write there."""
    made = subprocess.run(["mount", "-o", "remount,ro", disk], capture_output=True, text=True, check=False)
    if made.returncode and "busy" not in made.stderr:
        pytest.skip(f"cannot mount read-only: {made.stderr}")
    return made.returncode == 0


def test_runs_on_a_read_only_file_system_are_read_and_not_changed(small_disk: Path) -> None:
    flow = Flow(small_disk, WORKFLOW)
    flow.headway("run")
    wait_until(lambda: _is_read_only(small_disk))
    for words in (["status"], ["why", "a"], ["usage"], ["logs", "a"], ["runs"], ["run", "-n"]):
        flow.headway(*words)
    for words in (["run"], ["run", "--again"], ["resume"], ["cancel"]):
        said = flow.headway(*words, code=3).stderr
        assert "Read-only file system" in said and len(said.splitlines()) == 1
