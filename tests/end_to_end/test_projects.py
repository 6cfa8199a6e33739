"""What one project has learned is not taken for another's: the history is kept by what a task is, not by its name."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from headway.api.history import show_history
from headway.model.records import HistoryRead
from tests.end_to_end.project import Flow

MACHINE = ("--cores", "2", "--memory", "2GB", "--disk", "1GB", "--sizer", "max-seen")
SMALL = "name: hello\ntasks:\n  hello: {run: echo hello}\n"
LARGE = "name: hello\ntasks:\n  hello: {run: python3 -c 'x = bytearray(90_000_000)'}\n"
SCRIPT = "name: hello\ntasks:\n  hello: {run: python3 main.py, inputs: [main.py]}\n"


def project(directory: Path, workflow: str, script: str = "") -> Flow:
    directory.mkdir()
    if script:
        (directory / "main.py").write_text(script)
    return Flow(directory, workflow)


def known(flow: Flow) -> int:
    """Run everything; return how many earlier attempts the run knew."""
    flow.headway("run", "--again", *MACHINE)
    assert [launch.attempt for launch in flow.launches()] == [1], "it was not killed for what another task had used"
    return sum(len(record.observations) for record in flow.records() if isinstance(record, HistoryRead))


def test_a_new_directory_does_not_learn_from_another_workflow_of_its_name(tmp_path: Path) -> None:
    assert known(project(tmp_path / "one", SMALL)) == 0
    assert known(project(tmp_path / "two", LARGE)) == 0


def test_a_project_keeps_what_it_learned_when_moved_and_edited_but_not_with_another_program(tmp_path: Path) -> None:
    flow = project(tmp_path / "here", SMALL)
    assert known(flow) == 0
    flow.directory = (tmp_path / "here").rename(tmp_path / "elsewhere, with spaces")
    flow.write(SMALL.replace("echo hello", "echo -n goodbye"))
    assert known(flow) == 1
    flow.write(LARGE)
    assert known(flow) == 0, "the template was edited: this is another task"


def test_clones_share_until_a_script_differs(tmp_path: Path) -> None:
    assert known(project(tmp_path / "original", SCRIPT, "print(1)")) == 0
    assert known(project(tmp_path / "clone", SCRIPT, "print(1)")) == 1
    changed = project(tmp_path / "changed", SCRIPT, "x = bytearray(90_000_000)")
    assert known(changed) == 0
    (changed.directory / "main.py").write_text("x = bytearray(91_000_000)")
    assert known(changed) == 1, "its own attempts, before the script was edited"


def test_directories_that_name_the_same_project_share(tmp_path: Path) -> None:
    for number, name in enumerate(("one", "two")):
        flow = project(tmp_path / name, SMALL.replace("hello}", f"hello {name}}}"))
        (flow.directory / "headway.toml").write_text('project = "greetings"\n')
        assert known(flow) == number


def test_the_history_is_shown_and_forgotten_by_project(tmp_path: Path) -> None:
    one, two = (project(tmp_path / name, SMALL.replace("hello}", f"hello {name}}}")) for name in ("one", "two"))
    for flow in (one, two):
        flow.headway("run", *MACHINE)
    shown = one.headway("history", COLUMNS="200").stdout
    assert str(one.directory) in shown and str(two.directory) in shown
    (mine,) = one.json("history", "--project", ".")["categories"]
    assert (mine["workflow"], mine["directory"]) == ("hello", str(one.directory))
    assert show_history(project=two.directory).categories[0].directory == str(two.directory)
    one.headway("history", "prune", "--project", ".", "--yes")
    (left,) = one.json("history")["categories"]
    assert left["directory"] == str(two.directory)
    assert "nothing is known of a project 'three'" in one.headway("history", "--project", "three", code=None).stderr


def test_a_copy_without_its_runs_is_a_project_of_its_own(tmp_path: Path) -> None:
    flow = project(tmp_path / "one", SMALL)
    known(flow)
    shutil.copytree(flow.directory, tmp_path / "two", ignore=shutil.ignore_patterns(".headway"))
    copy = Flow(tmp_path / "two", SMALL.replace("hello}", "hi}"))
    assert known(copy) == 0


def test_what_an_older_headway_learned_goes_to_a_directory_that_was_used_before(
    tmp_path: Path, own_history: Path
) -> None:
    flow = project(tmp_path / "old", SMALL)
    known(flow)
    (flow.directory / ".headway" / "project").unlink()
    with sqlite3.connect(own_history) as database:
        database.executescript(
            "ALTER TABLE observations DROP COLUMN origin; DROP TABLE origins; DROP TABLE projects;PRAGMA user_version=2"
        )
    assert [each["project"] for each in flow.json("history")["categories"]] == [""]
    assert known(project(tmp_path / "new", LARGE)) == 0
    assert known(flow) == 1
    assert known(flow) == 2
