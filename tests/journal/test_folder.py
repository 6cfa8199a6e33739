"""Runs by number, and one writer at a time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.journal.folder import Manager, Project, RunFolder
from headway.model.errors import BusyError, InputError


def test_runs_are_numbered_and_only_those_with_a_journal_count(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.runs() == []
    first, second = project.new_run(), project.new_run()
    assert (first.run, second.run) == ("1", "2")
    first.journal.touch()
    assert [folder.run for folder in project.runs()] == ["1"]
    assert project.run().run == "1"
    assert project.new_run().run == "3"


def test_asking_for_a_run_that_is_not_there(tmp_path: Path) -> None:
    project = Project(tmp_path)
    with pytest.raises(InputError, match="nothing has been run here"):
        project.run()
    project.new_run().journal.touch()
    with pytest.raises(InputError, match=r"no run 7 here.*latest are 1"):
        project.run("7")


def test_one_manager_at_a_time(tmp_path: Path) -> None:
    project = Project(tmp_path)
    code = (
        "import sys; from pathlib import Path; from headway.journal.folder import Project;"
        "project = Project(Path(sys.argv[1])); print(project.manager()); held = project.locked('2'); held.__enter__()"
    )
    with project.locked("7"):
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert "BusyError" in other.stderr and "another Headway is at work here (process" in other.stderr
    assert other.stdout.strip() == str(Manager(os.getpid(), socket.gethostname(), "7"))
    other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert other.returncode == 0 and other.stdout.strip() == "None"


def test_the_lock_of_a_dead_manager_does_not_count(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from headway.journal.folder import Project;"
        "held = Project(Path(sys.argv[1])).locked(); held.__enter__(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    dead = subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    assert dead.returncode == -9
    with Project(tmp_path).locked():
        pass


def test_two_locks_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    with Project(tmp_path).locked(), pytest.raises(BusyError), Project(tmp_path).locked():
        pass


@given(st.lists(st.text(min_size=1, max_size=400), min_size=2, max_size=2, unique=True))
def test_every_task_has_a_safe_folder_of_its_own(tasks: list[str]) -> None:
    folder = RunFolder(Path("/run"))
    one, two = (folder.attempt(task, 1) for task in tasks)
    assert one != two
    for place in (one, two):
        assert place.parts[:3] == ("/", "run", "tasks") and len(place.parts) == 5
        assert place.parts[3] not in (".", "..") and len(place.parts[3].encode()) <= 255
        assert "/" not in place.parts[3] and "\0" not in place.parts[3]
