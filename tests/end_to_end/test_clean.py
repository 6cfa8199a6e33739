"""`headway runs` and `headway clean`: what runs leave, and how it is deleted."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

import headway
from headway.model.errors import BusyError, InputError
from headway.workers.environments import described_environment
from tests.end_to_end.project import Flow, wait_until

FLOW = """
name: clean
tasks:
  a: {run: echo a | tee a.txt, outputs: [a.txt]}
  b: {run: cat a.txt > b.txt, inputs: [a.txt], outputs: [b.txt]}
"""


def numbers(flow: Flow) -> list[str]:
    return [run["run"] for run in flow.json("runs")["runs"]]


def test_old_runs_go_and_results_stay(tmp_path: Path) -> None:
    flow = Flow(tmp_path, FLOW)
    assert "nothing has been run" in flow.headway("runs").stdout
    assert "nothing to delete" in flow.headway("clean").stdout
    flow.headway("run", "a")
    flow.headway("run")
    flow.headway("run", "--force", "b")
    flow.headway("run", "a")
    assert numbers(flow) == ["4", "3", "2", "1"]
    assert all(run["size_bytes"] > 1000 for run in flow.json("runs")["runs"])
    said = flow.headway("clean", "-n").stdout
    assert "run 1" in said
    assert "run 2" in said
    assert "run 3" not in said  # the newest of the whole workflow
    assert "nothing was deleted" in flow.headway("clean").stdout  # nobody answers
    assert numbers(flow) == ["4", "3", "2", "1"]
    assert "deleted" in flow.headway("clean", "--yes").stdout
    assert numbers(flow) == ["4", "3"]
    flow.headway("run")
    assert flow.launches() == []
    assert "log of 'a' was deleted with run 1" in flow.headway("logs", "a", code=2).stderr
    assert flow.json("clean", "--keep", "2", "--yes")["removed"]
    assert numbers(flow) == ["5", "4"]


def test_sandboxes_and_environments(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("")
    text = FLOW + "  c: {run: 'head -c 50000 /dev/zero > x; exit 1', outputs: [x], venv: requirements.txt}\n"
    flow = Flow(tmp_path, text)
    used = described_environment({"venv": ("requirements.txt",)}, tmp_path)
    assert used is not None
    (used.prefix / "bin").mkdir(parents=True)
    used.ready.touch()
    flow.headway("run", "-k", code=1)
    old = tmp_path / ".headway/envs/0123456789abcdef0123"
    old.mkdir()
    (old / "library").write_bytes(b"x" * 70_000)
    old.with_suffix(".ready").touch()
    found = flow.json("clean", "-n")["found"]
    assert [(each["kind"], each["size_bytes"] >= 50_000) for each in found] == [
        ("sandbox", True),
        ("environment", True),
    ]
    flow.headway("clean", "-y")
    assert {path.stem for path in (tmp_path / ".headway/envs").iterdir()} == {used.prefix.name}
    assert not list(tmp_path.glob(".headway/runs/1/tasks/*/*/work"))
    assert flow.json("logs", "a")["stdout"] == "a\n"


def test_runs_that_can_be_resumed_stay_unless_told(tmp_path: Path) -> None:
    flow = Flow(tmp_path, FLOW)
    flow.headway("run", "a", code=-9, HEADWAY_CRASH=f"journalled:2:{tmp_path}/flag")
    flow.headway("run", "a")
    flow.headway("run")
    flow.headway("clean", "-y")
    assert numbers(flow) == ["3", "1"]
    assert flow.json("runs")["runs"][1]["state"] == "interrupted"
    flow.headway("clean", "-y", "--unfinished")
    assert numbers(flow) == ["3"]


def test_nothing_is_deleted_while_a_run_is_at_work(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks: {a: {run: 'while [ ! -e go ]; do sleep 0.05; done'}}\n")
    manager = flow.start("run")
    wait_until((tmp_path / ".headway/runs/1/journal.db").exists)
    assert "another Headway is at work here" in flow.headway("clean", "-y", code=4).stderr
    assert flow.json("runs")["runs"][0]["state"] == "running"
    with chdir(tmp_path), pytest.raises(BusyError):
        headway.clean()
    (tmp_path / "go").touch()
    manager.wait()
    with pytest.raises(InputError, match="newest run"):
        headway.clean(tmp_path, keep=0)
