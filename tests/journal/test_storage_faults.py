"""Every write of a journal fails once: what was durable stays, and nothing half written is taken for a journal."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from headway.journal.sqlite import JournalTail, SqliteJournal
from headway.model.errors import SiteError
from headway.model.records import ReadInputs
from tests.end_to_end.project import Flow, wait_until
from tests.journal.half_written import TORN, die_while_writing

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


@pytest.fixture
def without_log(tmp_path: Path) -> Path:
    """A journal as on a network file system: without a write-ahead log."""
    SqliteJournal.create(tmp_path / "journal.db", FIRST).close()
    with closing(sqlite3.connect(tmp_path / "journal.db")) as database:
        database.execute("PRAGMA journal_mode=TRUNCATE")
    return tmp_path / "journal.db"


def test_a_journal_whose_writer_died_in_the_middle_of_a_write_is_read(without_log: Path) -> None:
    """What was begun has to be undone before one can read."""
    die_while_writing(without_log)
    assert TORN in without_log.read_bytes()
    with closing(SqliteJournal(without_log, read_only=True)) as journal:
        assert list(journal.replay()) == FIRST


def test_readers_go_on_when_the_writer_dies_in_the_middle_of_a_write(without_log: Path) -> None:
    with closing(JournalTail(without_log)) as tail, closing(SqliteJournal(without_log, read_only=True)) as journal:
        assert tail.news() == FIRST
        die_while_writing(without_log)
        assert tail.news() == []
        die_while_writing(without_log)
        assert list(journal.replay()) == FIRST
        with closing(SqliteJournal(without_log)) as resumed:
            resumed.append(FIRST[:1])
        assert tail.news() == FIRST[:1]


def test_a_reader_that_may_not_undo_what_was_half_written_says_so(small_disk: Path, without_log: Path) -> None:
    die_while_writing(without_log)
    for path in (without_log, Path(f"{without_log}-journal")):
        shutil.copy(path, small_disk / path.name)
    wait_until(lambda: _is_read_only(small_disk))
    with pytest.raises(SiteError, match="its manager died in the middle of a write") as error:
        SqliteJournal(small_disk / without_log.name, read_only=True)
    assert "headway resume" in str(error.value)


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
