"""`headway attach`: following a run from its journal."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import locks
from headway.api import follow
from headway.api.watching import Watch
from headway.journal import sqlite as tail_module
from headway.journal.folder import Project
from headway.journal.sqlite import JournalTail, SqliteJournal
from headway.model.records import Decision, Event, Tick
from tests.cli.bench import SMALL, Bench, interrupt
from tests.journal.half_written import die_while_writing

WAITS = """
    name: patient
    tasks:
      wait:
        run: touch started; while [ ! -e go ]; do sleep 0.05; done
      bad:
        needs: [wait]
        run: echo "the reason" >&2; exit 3
"""


def test_attach_shows_the_same_lines_and_exit_code_as_run(bench: Bench) -> None:
    bench.write(WAITS)
    bench.succeeds("run", "--detach", *SMALL)
    bench.wait_for_file("started")
    following = [bench.start("attach"), bench.start("attach", "--json", "--quiet")]
    assert following[0].stdout is not None
    greeting = following[0].stdout.readline()
    assert "patient, run 1: 2 tasks" in greeting
    (bench.directory / "go").touch()
    ends = [process.communicate(timeout=300) for process in following]
    assert [process.returncode for process in following] == [1, 1]
    assert "FAILED bad: " in ends[0][0]
    assert "the reason" in ends[0][0]
    assert "patient, run 1: failed" in ends[0][0]
    assert '"state": "failed"' in ends[1][0]
    assert [errors for _, errors in ends] == ["", ""]


def test_ctrl_c_in_attach_leaves_the_run_alone(bench: Bench) -> None:
    bench.write(WAITS)
    bench.succeeds("run", "--detach", *SMALL)
    following = bench.start("attach")
    assert following.stdout is not None
    following.stdout.readline()
    interrupt(following)
    _, errors = following.communicate(timeout=300)
    assert following.returncode == 130
    assert errors == "headway: run 1 goes on; `headway attach` follows it again\n"
    assert bench.json("status")["state"] == "running"
    bench.succeeds("cancel")
    assert bench("attach").returncode == 130, "it was stopped"


def test_attach_to_a_finished_run_prints_its_end_at_once(finished: Bench) -> None:
    done = finished("attach", "1")
    assert done.returncode == 1
    assert "demo, run 1: failed" in done.stdout
    assert "there is no run 7" in finished.fails(2, "attach", "7")


def test_stale_locks(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write(WAITS)
    running = bench.start("run", *SMALL)
    bench.wait_for_file("started")
    running.kill()
    running.communicate(timeout=300)
    lock = bench.directory / ".headway" / "lock"
    assert f"(process {running.pid} on " in bench.fails(3, "attach", "-q")
    with monkeypatch.context() as changed:
        changed.setattr(follow, "_booted_at", time.time)
        assert "ended when this machine was restarted; nothing is lost" in bench.fails(3, "attach", "-q")
    lock.write_text("process 12 on some-other-host, run 1")
    error = bench.fails(3, "attach", "-q")
    assert "its manager (process 12 on some-other-host) is gone, as far as can be seen from here" in error
    lock.write_text("process 12 on some-other-host, run 9")
    assert "its manager was killed or crashed" in bench.fails(3, "attach", "-q")
    bench.succeeds("cancel")


def test_the_manager_dies_in_the_middle_of_a_write_without_a_write_ahead_log(bench: Bench) -> None:
    """As on a network file system: what was begun has to be undone before those who follow the run can read on."""
    bench.write(WAITS)
    running = bench.start("run", *SMALL)
    bench.wait_for_file("started")
    running.kill()
    running.communicate(timeout=300)
    folder = Project(bench.directory).run()
    with closing(sqlite3.connect(folder.journal)) as database:
        database.execute("PRAGMA journal_mode=TRUNCATE")
    lock = locks.take(bench.directory / ".headway" / "lock", f"process 12 on {socket.gethostname()}, run 1")
    assert lock is not None  # this process stands for the manager
    following, watch = bench.start("attach"), Watch(None, bench.directory)
    assert following.stdout is not None
    assert "patient, run 1: 2 tasks" in following.stdout.readline()
    watch.catch_up()
    assert watch.state == "running"
    die_while_writing(folder.journal)
    os.close(lock)
    _, errors = following.communicate(timeout=300)
    assert following.returncode == 3
    assert errors.startswith("headway: run 1 has no manager any more: its manager (process 12 on ")
    assert errors.count("\n") == 1

    def interrupted() -> bool:
        watch.look()
        return watch.state == "interrupted"

    bench.wait_for(interrupted, "the watch to notice")
    watch.close()
    (bench.directory / "go").touch()
    assert bench("resume").returncode == 1
    assert bench.json("status")["tasks"]["succeeded"] == 1


@given(st.lists(st.integers(0, 7), max_size=6), st.integers(1, 5))
def test_a_tail_tells_everything_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], at_once: int
) -> None:
    path: Path = tmp_path_factory.mktemp("tail") / "journal.db"
    journal = SqliteJournal(path)
    tail = JournalTail(path)
    before, tail_module.MOST_AT_ONCE = tail_module.MOST_AT_ONCE, at_once
    try:
        told: list[Event | Decision] = []
        written: list[Event | Decision] = []
        for number, size in enumerate(pieces):
            piece: Sequence[Tick] = [Tick(float(100 * number + index)) for index in range(size)]
            journal.append(piece)
            written += piece
            told += tail.news()
        while batch := tail.news():
            assert len(batch) <= at_once
            told += batch
        assert told == written
    finally:
        tail_module.MOST_AT_ONCE = before
        tail.close()
        journal.close()
