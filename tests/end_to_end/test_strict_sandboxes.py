"""Strict sandboxes: a task sees its inputs and nothing else; and the check that finds all inputs that are missing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from headway.journal.folder import Project
from headway.model.records import TasksAdded
from tests.end_to_end.project import Flow, wait_until

UNDECLARED = """name: undeclared
tasks:
  made:
    run: ./make.sh > made.txt
    outputs: made.txt

  plot:
    each: {n: [1, 2]}
    run: python3 scripts/plot.py > plot_{n}.txt
    inputs: [scripts/plot.py, made.txt]
    outputs: plot_{n}.txt
"""
PLOT = "import util\nprint(util.text(), open('made.txt').read(), open('settings.ini').read())\n"


def undeclared(directory: Path, workflow: str = UNDECLARED) -> Flow:
    (directory / "scripts").mkdir()
    (directory / "scripts" / "plot.py").write_text(PLOT)
    (directory / "scripts" / "util.py").write_text("def text(): return open('lib/words').read()\n")
    (directory / "lib").mkdir()
    (directory / "lib" / "words").write_text("words")
    (directory / "settings.ini").write_text("width=3")
    (directory / "make.sh").write_text("#!/bin/sh\necho made\n")
    (directory / "make.sh").chmod(0o755)
    return Flow(directory, workflow)


def declared(directory: Path) -> Flow:
    text = UNDECLARED.replace("    outputs: made.txt", "    inputs: make.sh\n    outputs: made.txt")
    more = "scripts/util.py, lib/words, settings.ini"
    return undeclared(directory, text.replace("scripts/plot.py, made.txt]", f"scripts/plot.py, made.txt, {more}]"))


def test_an_undeclared_read_fails_and_the_message_names_the_line(tmp_path: Path) -> None:
    flow = undeclared(tmp_path)
    (failed,) = flow.json("run", "--sandbox", "strict", code=1)["failed"]
    added = "which is not among its inputs; add it to 'inputs' of task 'made' (workflow.yaml:3)"
    assert failed["message"].endswith(f"it looked for make.sh, {added}")


def test_a_module_beside_a_declared_script_is_hidden(tmp_path: Path) -> None:
    flow = undeclared(
        tmp_path, UNDECLARED.replace("    outputs: made.txt", "    inputs: make.sh\n    outputs: made.txt")
    )
    failed = flow.json("run", "-k", "--sandbox", "strict", code=1)["failed"]
    assert {each["task"] for each in failed} == {"plot[1]", "plot[2]"}
    for each in failed:
        assert "it looked for scripts/util.py" in each["message"]
        assert "task 'plot' (workflow.yaml:8)" in each["message"]


def test_strict_for_one_task_for_all_and_by_a_setting(tmp_path: Path) -> None:
    flow = undeclared(
        tmp_path, UNDECLARED.replace("    outputs: made.txt", "    outputs: made.txt\n    sandbox: strict")
    )
    assert [each["task"] for each in flow.json("run", "-k", code=1)["failed"]] == ["made"]
    flow.write(UNDECLARED.replace("tasks:", "sandbox: strict\ntasks:"))
    assert "(workflow.yaml:4)" in flow.json("run", code=1)["failed"][0]["message"]
    own = "    outputs: made.txt\n    sandbox: true"
    flow.write(UNDECLARED.replace("tasks:", "sandbox: strict\ntasks:").replace("    outputs: made.txt", own))
    assert {each["task"] for each in flow.json("run", "-k", code=1)["failed"]} == {"plot[1]", "plot[2]"}
    flow.write(UNDECLARED)
    flow.headway("run", "-q", "--again", code=1, HEADWAY_SANDBOX="strict")
    (tmp_path / "headway.toml").write_text('sandbox = "strict"\n')
    flow.headway("run", "-q", "--again", code=1)
    flow.headway("run", "-q", "--again", "--sandbox", "as-stated")


def test_a_strict_sandbox_does_not_make_results_invalid(tmp_path: Path) -> None:
    flow = declared(tmp_path)
    flow.headway("run", "-q")
    flow.headway("run", "-q", "--sandbox", "strict")
    assert sorted(flow.reused()) == ["made", "plot[1]", "plot[2]"]
    flow.headway("run", "-q", "--sandbox", "strict", "--again")
    assert len(flow.launches()) == 3
    assert (tmp_path / "plot_1.txt").read_text().split() == ["words", "made", "width=3"]
    tasks = [task for record in flow.records() if isinstance(record, TasksAdded) for task in record.tasks]
    assert all(task.strict for task in tasks)


def test_tasks_without_a_sandbox_stay_without_one(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    flow = Flow(
        tmp_path,
        "name: w\nsandbox: strict\ntasks:\n  bare: {run: ls x}\n  open: {run: cp x y, outputs: y, sandbox: false}\n",
    )
    flow.headway("run", "-q", "--sandbox", "strict")


@pytest.mark.parametrize("words", [("run", "-n"), ("run",)])
def test_an_absolute_path_into_the_directory_is_warned_about(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    task = f"run: cat {tmp_path}/x > y\n    outputs: y\n    sandbox: strict\n"
    flow = Flow(tmp_path, f"name: w\ntasks:\n  t:\n    {task}")
    assert f"task 't' names {tmp_path}/x: a strict sandbox hides only relative paths" in flow.headway(*words).stderr
    flow.write(f"name: w\ntasks:\n  t:\n    inputs: {tmp_path}/x\n    {task}")
    assert "hides only" not in flow.headway(*words).stderr


# --- the check ---


def test_a_check_finds_all_missing_inputs_and_leaves_results_alone(tmp_path: Path) -> None:
    flow = undeclared(tmp_path)
    flow.headway("run", "-q")
    (tmp_path / "plot_1.txt").write_text("mine")
    done = flow.headway("run", "--check-inputs", code=1)
    assert [line for line in done.stdout.splitlines() if "add `" in line] == [
        "workflow.yaml:3: add `- make.sh` to 'inputs' of task 'made'",
        "workflow.yaml:7: add `- lib/words` to 'inputs' of task 'plot'",
        "workflow.yaml:7: add `- scripts/util.py` to 'inputs' of task 'plot'",
        "workflow.yaml:7: add `- settings.ini` to 'inputs' of task 'plot'",
    ]
    assert (tmp_path / "plot_1.txt").read_text() == "mine"
    assert [run.run for run in Project(tmp_path).runs()] == ["1"]
    assert not (tmp_path / ".headway" / "check").exists()


def test_a_check_of_a_workflow_that_declares_its_inputs(tmp_path: Path) -> None:
    flow = declared(tmp_path)
    done = flow.headway("run", "--check-inputs")
    assert "every task succeeded with its declared inputs alone" in done.stdout
    assert not (tmp_path / "made.txt").exists()
    document = json.loads(flow.headway("run", "--check-inputs", "made", "--json").stdout)
    assert document["missing_inputs"] == [] and document["tasks"]["total"] == 1


def test_a_check_names_the_output_of_another_task_and_tasks_without_a_sandbox(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        "name: w\ntasks:\n"
        "  first: {run: echo 1 > first.txt, outputs: first.txt}\n"
        "  second: {run: cat first.txt > second.txt, outputs: second.txt, needs: first}\n"
        "  look: {run: ls, needs: second}\n",
    )
    done = flow.headway("run", "--check-inputs", code=1)
    assert "workflow.yaml:4: add `- first.txt` to 'inputs' of task 'second' (task 'first' makes it)" in done.stdout
    assert "1 task (look)" in done.stdout


def test_a_check_of_a_task_that_fails_for_another_reason(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  t: {run: echo broken >&2; exit 3, outputs: x}\n")
    done = flow.headway("run", "--check-inputs", code=1)
    assert "1 task failed, so that there may be more" in done.stdout
    assert "broken" in flow.headway("logs", "-C", ".headway/check", "t").stdout
    flow.write("name: w\ntasks:\n  t: {run: echo > x, outputs: x}\n")
    flow.headway("run", "--check-inputs", "-q")
    assert not (tmp_path / ".headway" / "check").exists()


def test_a_check_after_one_that_was_killed_ends_what_is_left_of_it(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  t: {run: test -s go || sleep 1000; touch x, inputs: go, outputs: x}\n")
    (tmp_path / "go").touch()
    first = flow.start("run", "--check-inputs")
    check = tmp_path / ".headway" / "check"
    wait_until(lambda: list(check.glob(".headway/runs/1/tasks/t/1/work")))
    busy = flow.headway("run", "--check-inputs", code=None)
    assert busy.returncode and "another check of inputs is at work here" in busy.stderr
    (lock,) = check.glob(".headway/runs/1/jobs/*/lock")
    supervisor = int(lock.read_text())
    first.send_signal(signal.SIGKILL)
    first.communicate()
    (tmp_path / "go").write_text("go")
    flow.headway("run", "--check-inputs", "-q")
    wait_until(lambda: not Path(f"/proc/{supervisor}").exists())


@pytest.mark.parametrize("other", ["--dry-run", "--detach", "--serve"])
def test_what_a_check_cannot_be_combined_with(other: str, tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  t: {run: touch x, outputs: x}\n")
    done = flow.headway("run", "--check-inputs", other, code=None)
    assert done.returncode and "leave one of the two out" in done.stderr
    assert not os.path.exists(tmp_path / ".headway")
