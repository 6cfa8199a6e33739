"""Two runs on one machine, without a pool: the second says who else is at work, and what both take."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from headway.journal.folder import Project
from tests.cli.bench import Bench

HALF = ("--cores", "0.5", "--memory", "100MB")
WAITS = "name: {name}\ntasks: {{wait: {{run: 'touch started; while [ ! -e go ]; do sleep 0.05; done'}}}}"
QUICK = "name: {name}\ntasks: {{quick: {{run: 'true'}}}}"


def made(home: Path, name: str, text: str) -> Bench:
    bench = Bench(home / name, home)
    bench.write(text.format(name=name))
    return bench


def at_work(bench: Bench) -> str:
    """What `headway doctor` says of runs at work on this machine."""
    found: str = next(check["found"] for check in bench.json("doctor")["checks"] if check["about"] == "at work")
    return found


def test_a_run_says_who_else_is_at_work_and_what_both_take(tmp_path: Path) -> None:
    one, two = made(tmp_path, "one", WAITS), made(tmp_path, "two", QUICK)
    notes = tmp_path / "state" / "headway" / "at-work"
    first = one.start("run", "-q", *HALF)
    one.wait_for_file("started")

    beside = f"also at work on this machine: one in {one.directory} (0.5 cores, 100 MB memory); with this run"
    said = two("run", "-q", "--again").stderr
    assert said.startswith(f"headway: {beside}") and said.count("\n") == 1
    assert "limit each with --cores and --memory, or let them share a pool (`headway pool start`" in said
    assert "cores of" in said and "memory of" in said
    assert beside in two("run", "-q", "--again", "--detach").stderr
    two.wait_for(lambda: Project(two.directory).manager() is None, "the end of the run in the background")
    assert "limit each with --cores, or" in two("run", "-q", "--again", "--memory", "100MB").stderr
    assert two("run", "-q", "--again", *HALF).stderr == ""  # both fit
    assert len(list(notes.iterdir())) == 1  # of the runs that have ended, nothing is left
    assert at_work(two).startswith(f"one in {one.directory}")

    first.kill()
    first.communicate()
    assert beside in two("run", "-q", "--again").stderr  # its task still runs
    (lock,) = one.directory.glob(".headway/runs/1/jobs/*/lock")
    supervisor = int(lock.read_text())
    os.kill(supervisor, signal.SIGKILL)
    two.wait_for(lambda: at_work(two).startswith("no run of yours"), "the end of the supervisor")
    assert two("run", "-q", "--again").stderr == ""
    assert list(notes.iterdir()) == []

    (one.directory / "go").touch()
    assert one("resume", "-q").stderr == ""  # it is not beside itself
