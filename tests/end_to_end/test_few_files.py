"""A finished run leaves at most one file a task, and the logs can be read as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.journal.logs import LARGEST_BYTES
from tests.end_to_end.project import Flow, wait_until

TASKS = 36
FLOW = f"""
name: few
tasks:
  small:
    each: {{i: [{", ".join(map(str, range(TASKS)))}]}}
    run: echo out {{i}}; echo err {{i}} >&2; echo {{i}} > {{i}}.txt
    outputs: ["{{i}}.txt"]
"""


def left(directory: Path, run: int) -> int:
    return len(list((directory / f".headway/runs/{run}").rglob("*")))


def test_a_finished_run_leaves_few_files_and_all_logs(tmp_path: Path) -> None:
    flow = Flow(tmp_path, FLOW)
    flow.headway("run")
    assert left(tmp_path, 1) < TASKS  # with directories: none of them is a task's
    assert not list((tmp_path / ".headway/runs/1/tasks").iterdir())
    flow.headway("run", "--again")
    assert flow.headway("logs", "small[3]").stdout == "==> stdout <==\nout 3\n==> stderr <==\nerr 3\n"
    assert flow.json("logs", "small[3]", "--run", "1")["stderr"] == "err 3\n"
    assert flow.headway("logs", "small[30]", "-f", "--only", "stdout").stdout == "out 30\n"


def test_failures_large_logs_and_later_attempts(tmp_path: Path) -> None:
    flow = Flow(
        tmp_path,
        f"""
name: large
tasks:
  fails: {{run: 'echo attempt $HEADWAY_TRY; echo oh dear >&2; touch made; exit 1', outputs: [x], retries: 1}}
  large: {{run: 'yes | head -c {LARGEST_BYTES + 2}'}}
""",
    )
    done = flow.headway("run", "-k", code=1)
    assert "oh dear" in done.stdout
    assert flow.json("logs", "fails")["attempts"] == [1, 2]
    assert flow.json("logs", "fails", "--attempt", "1")["stdout"] == "attempt 1\n"
    assert len(flow.json("logs", "large")["stdout"]) == LARGEST_BYTES + 2
    assert (tmp_path / ".headway/runs/1/tasks/fails/2/work/made").exists()  # to look into


@pytest.mark.parametrize("then", ["resume", "run"])
def test_while_it_runs_and_after_a_kill(tmp_path: Path, then: str) -> None:
    flow = Flow(
        tmp_path, "name: w\ntasks:\n  one: {run: 'echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done'}\n"
    )
    manager = flow.start("run")
    journal = tmp_path / ".headway/runs/1/journal.db"
    wait_until(lambda: journal.exists() and flow.launches())
    wait_until(lambda: flow.headway("logs", "one", code=None).stdout == "begun\n")
    follower = flow.start("logs", "-f", "one", "--only", "stdout")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "begun\n"
    manager.kill()
    manager.wait()
    if then == "run":
        flow.headway("cancel")
    (tmp_path / "go").touch()
    flow.headway(then)
    follower.communicate(timeout=30)
    assert flow.headway("logs", "one").stdout == "begun\ndone\n"
