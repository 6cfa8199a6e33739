"""A directory whose newest run cannot be understood: it can be used on, and nobody has to delete anything by hand."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.project import Flow, wait_until
from tests.end_to_end.test_plugins import PLUGIN

WORKFLOW = "name: b\ntasks:\n  a:\n    run: echo made >> log; echo made > out\n    outputs: [out]\n"


def _overwritten(content: bytes) -> Callable[[Path], None]:
    return lambda journal: journal.write_bytes(content) and None


def _another_database(journal: Path) -> None:
    journal.unlink()
    with sqlite3.connect(journal) as database:
        database.execute("CREATE TABLE recipes (name TEXT)")


def _changed(statement: str) -> Callable[[Path], None]:
    def change(journal: Path) -> None:
        with sqlite3.connect(journal) as database:
            database.execute(statement)

    return change


DAMAGE: dict[str, Callable[[Path], None]] = {
    "empty": _overwritten(b""),
    "text": _overwritten(b"this is no database" * 500),
    "cut": lambda journal: os.truncate(journal, journal.stat().st_size // 2),
    "another database": _another_database,
    "no records": _changed("DELETE FROM records"),
    "no start": _changed("DELETE FROM records WHERE sequence = 1"),
    "no tasks": _changed("DELETE FROM records WHERE kind = 'tasks-added'"),
    "a broken record": _changed("UPDATE records SET body = '{}' WHERE kind = 'tasks-added'"),
    "a tag that is a path": _changed(
        "UPDATE records SET body = replace(body, 'headway-', '../headway-') WHERE kind = 'submit'"
    ),
}


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with two runs."""
    directory = tmp_path_factory.mktemp("twice")
    flow = Flow(directory, WORKFLOW)
    flow.headway("run")
    flow.headway("run", "--again")
    return directory


@pytest.mark.parametrize("way", DAMAGE)
def test_a_damaged_run_is_named_passed_over_and_in_nobodys_way(twice: Path, tmp_path: Path, way: str) -> None:
    shutil.copytree(twice, tmp_path / "flow")
    flow = Flow(tmp_path / "flow", WORKFLOW)
    DAMAGE[way](flow.directory / ".headway/runs/2/journal.db")
    said = flow.headway("resume", code=3).stderr
    assert "runs/2/journal.db" in said and "headway run --again" in said and len(said.splitlines()) == 1
    passed_over = flow.headway("run")
    assert "run 2 is passed over" in passed_over.stderr and len(passed_over.stderr.splitlines()) == 1
    assert flow.json("status")["run"] == "3"
    DAMAGE[way](flow.directory / ".headway/runs/3/journal.db")
    flow.headway("run", "--again")
    assert flow.launches("4"), "everything runs again"


@pytest.mark.parametrize("words", [(), ("--again",)])
def test_files_of_earlier_runs_are_known_although_the_newest_journal_is_damaged(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    flow = Flow(
        tmp_path,
        "name: o\ntasks:\n  c: {each: s.csv, run: 'echo {id} > {outputs}', outputs: 'o/{id}.t'}\n"
        "  m: {run: 'cat o/*.t > m', inputs: 'o/*.t', outputs: m}\n",
    )
    for run, rows in enumerate(("id\n1\n2\n3\n", "id\n1\n2\n"), 1):
        (tmp_path / "s.csv").write_text(rows)
        flow.headway("run")
        assert flow.json("status")["run"] == str(run)
    (tmp_path / ".headway/runs/2/journal.db").write_bytes(os.urandom(8192))
    (tmp_path / "s.csv").write_text("id\n1\n")
    flow.headway("run", *words)
    assert (tmp_path / "m").read_text() == "1\n"
    assert len(flow.launches()) == (2 if words else 1)


@pytest.mark.parametrize("way", DAMAGE)
def test_without_an_earlier_run_the_user_decides(tmp_path: Path, way: str) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    flow.headway("run")
    wait_until(lambda: flow.supervisor() is None)
    DAMAGE[way](tmp_path / ".headway/runs/1/journal.db")
    said = flow.headway("run", code=3).stderr
    assert "runs/1/journal.db" in said and "headway run --again" in said
    flow.headway("run", "--again")
    assert flow.json("status")["state"] == "succeeded"


def test_a_disk_that_is_full_when_a_run_begins_leaves_nothing_behind(small_disk: Path) -> None:
    tasks = "".join(f"  t{number}:\n    run: 'true # {'x' * 400}'\n" for number in range(300))
    flow = Flow(small_disk, f"name: full\ntasks:\n{tasks}")
    filler = small_disk / "filler"
    room = os.statvfs(small_disk)
    filler.write_bytes(b"x" * (room.f_bavail * room.f_frsize - 160_000))
    said = flow.headway("run", code=3).stderr
    assert len(said.splitlines()) == 1 and "make room" in said
    assert not list(small_disk.glob(".headway/runs/*/journal.db*"))
    filler.unlink()
    flow.write(WORKFLOW)
    flow.headway("run")


def test_a_run_whose_sizer_was_uninstalled(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "tenth-1.0.dist-info").mkdir(parents=True)
    (site / "tenth.py").write_text(PLUGIN)
    (site / "tenth-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tenth\nVersion: 1.0\n")
    (site / "tenth-1.0.dist-info" / "entry_points.txt").write_text("[headway.sizers]\ntenth = tenth:Tenth\n")
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", WORKFLOW)
    flow.headway("run", "--sizer", "tenth", PYTHONPATH=str(site))
    with sqlite3.connect(flow.directory / ".headway/runs/1/journal.db") as database:
        database.execute("DELETE FROM records WHERE kind = 'finish'")  # its manager was killed just before
    assert "no sizer called 'tenth'" in flow.headway("resume", code=2).stderr
    flow.headway("run")
    assert flow.reused("2") == ["a"], "results are read without the run's policies"


def test_a_row_of_the_history_that_cannot_be_true_bricks_nothing(tmp_path: Path, own_history: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW.replace("    outputs", "    inputs: [workflow.yaml]\n    outputs"))
    flow.headway("run")
    with sqlite3.connect(own_history) as database:
        database.execute("UPDATE observations SET input_bytes = -5")
    flow.headway("run", "--again")
    flow.headway("run")


def test_a_journal_that_learned_from_such_a_row_can_be_resumed(tmp_path: Path) -> None:
    flow = Flow(tmp_path, WORKFLOW)
    flow.headway("run")
    flow.headway("run", "--again")
    with sqlite3.connect(tmp_path / ".headway/runs/2/journal.db") as database:
        ((body,),) = database.execute("SELECT body FROM records WHERE kind = 'history-read'").fetchall()
        spoiled = body.replace(b",0,{}]", b",-5,{}]")
        assert spoiled != body
        database.execute("UPDATE records SET body = ? WHERE kind = 'history-read'", (spoiled,))
        database.execute("DELETE FROM records WHERE kind IN ('finish', 'task-ended')")
    flow.headway("resume")
