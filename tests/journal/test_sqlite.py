"""The journal against an unfriendly file system."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from headway.file_systems import file_system_of
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import SiteError
from headway.model.records import Launch, ReadInputs, Why
from headway.model.resources import Resources
from tests.chaos.disk_changes import changes_by, compiled


def test_a_journal_from_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=99")
    before = path.read_bytes()
    with pytest.raises(SiteError, match=r"newer Headway.*update Headway"):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_a_file_that_is_not_a_journal_is_an_error_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_text("this is not a database, by any means, but it is long enough to be looked at" * 20)
    with pytest.raises(SiteError, match=r"journal\.db: cannot open the journal: file is not a database"):
        SqliteJournal(path)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append([ReadInputs(1.0, "a"), ReadInputs(2.0, "b")])
    journal.close()
    with sqlite3.connect(tmp_path / "journal.db") as database:
        database.execute("UPDATE records SET body = '{}' WHERE sequence = 2")
    with pytest.raises(SiteError, match=r"record 2 is damaged .*headway run --again"):
        list(SqliteJournal(tmp_path / "journal.db").replay())


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    SqliteJournal(tmp_path / "journal.db").close()
    assert (tmp_path / "journal.db").stat().st_mode & 0o077 == 0


def test_create_shows_all_of_the_first_records_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal.create(path, [ReadInputs(1.0, "a")])
    assert list(journal.replay()) == [ReadInputs(1.0, "a")]
    assert not path.with_name("journal.db.new").exists()


def test_a_process_that_dies_while_it_creates_a_journal_leaves_none(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from headway.journal.sqlite import SqliteJournal;"
        "SqliteJournal.append = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "SqliteJournal.create(Path(sys.argv[1]), [])"
    )
    died = subprocess.run([sys.executable, "-P", "-c", code, tmp_path / "journal.db"], check=False)
    assert died.returncode == -signal.SIGKILL
    assert not (tmp_path / "journal.db").exists()


def test_odd_paths(tmp_path: Path) -> None:
    folder = tmp_path / "100% odd? #1"
    folder.mkdir()
    journal = SqliteJournal(folder / "journal.db")
    journal.append([ReadInputs(1.0, "a")])
    assert (folder / "journal.db").exists()


def test_the_kind_of_a_file_system_is_found(tmp_path: Path) -> None:
    assert file_system_of(Path("/proc")) == "proc"
    assert file_system_of(tmp_path)


def test_a_full_disk_is_an_error_of_one_line_and_loses_nothing(small_disk: Path) -> None:
    journal = SqliteJournal(small_disk / "journal.db")
    journal.append([ReadInputs(1.0, "kept")])
    filler = os.open(small_disk / "filler", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space"):
        while True:
            os.write(filler, b"x" * 4096)
    with pytest.raises(SiteError, match=r"cannot write the journal.*headway resume"):
        for number in range(1000):
            journal.append([ReadInputs(2.0, f"lost {number}")] * 50)
    os.close(filler)
    (small_disk / "filler").unlink()
    journal.append([ReadInputs(3.0, "after")])
    tasks = [
        record.task for record in SqliteJournal(small_disk / "journal.db").replay() if isinstance(record, ReadInputs)
    ]
    assert tasks[0] == "kept" and tasks[-1] == "after"
    assert all(tasks.count(task) == 50 for task in tasks[1:-1]), "all or none of a batch"


def test_a_brief_replay_leaves_out_why_attempts_got_their_amounts(tmp_path: Path) -> None:
    why = {"cores": Why("ladder", "hint", {"hint": 2}, "the workflow asks for it")}
    launch = Launch(1.0, "a", 1, "n", "tag", Resources(cores=2), "no earlier result", why)
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append([ReadInputs(1.0, "a"), launch])
    whole, brief = list(journal.replay()), list(journal.replay(brief=True))
    assert whole == [ReadInputs(1.0, "a"), launch]
    assert brief[0] == whole[0]
    assert isinstance(brief[1], Launch)
    assert (brief[1].why, brief[1].resources, brief[1].because) == ({}, launch.resources, launch.because)


def test_records_are_flushed_before_an_append_returns(tmp_path: Path) -> None:
    """With a write-ahead log, and without one, as on network file systems."""
    folder = tmp_path / "folder"
    folder.mkdir()
    code = """
from pathlib import Path
from headway.journal.sqlite import SqliteJournal
from headway.model.records import ReadInputs
record = ReadInputs(1.0, "t")
journal = SqliteJournal.create(Path("journal.db").absolute(), [record])
Path("created").touch()
for mode in ("wal", "delete"):
    journal._database.execute(f"PRAGMA journal_mode={mode}")
    journal.append([record])
    Path(f"appended-{mode}").touch()
"""
    changes = changes_by(code, folder, compiled(tmp_path))
    for file, returned in (
        ("journal.db.new", "created"),
        ("journal.db-wal", "appended-wal"),
        ("journal.db", "appended-delete"),
    ):
        before = changes[: next(at for at, change in enumerate(changes) if change.endswith(f" {returned}"))]
        done = [change.split()[0] for change in before if change.endswith(f" {file}")]
        assert any(name.startswith("pwrite") for name in done)
        assert done[-1] in ("fsync", "fdatasync"), f"{file}: {done}"
