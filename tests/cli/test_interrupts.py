"""Ctrl-C, `cancel` and `resume`: a run can be stopped at any time, and nothing is lost."""

from __future__ import annotations

import signal
import sqlite3
from collections import Counter

from tests.cli.bench import SMALL, Bench, interrupt

# Two tasks run at a time; each says when it has begun and goes on when it may.
GATED = """
    name: gated
    tasks:
      wait:
        each: {n: [1, 2, 3, 4]}
        run: touch begun_{n}; while [ ! -e go ]; do sleep 0.05; done; touch done_{n}
        resources: {memory: 10 MB, cores: 1}
"""


def test_ctrl_c_once_lets_running_tasks_end(bench: Bench) -> None:
    bench.write(GATED)
    process = bench.start("run", *SMALL)
    bench.wait_for_file("begun_1")
    bench.wait_for_file("begun_2")
    interrupt(process)
    assert process.stdout
    for line in process.stdout:
        if "stopping" in line:
            break
    assert "stopping gently: waiting for 2 running tasks; Ctrl-C again stops them at once" in line
    (bench.directory / "go").touch()
    rest = process.stdout.read()
    assert process.wait(30) == 130
    assert "stopped after" in rest
    assert "2 tasks run, 2 not run; `headway resume` goes on with it" in rest
    assert not (bench.directory / "begun_3").exists()
    status = bench.json("status")
    assert (status["state"], status["tasks"]["succeeded"], status["tasks"]["waiting"]) == ("stopped", 2, 2)
    assert "gated, run 1: 4 tasks" in bench.succeeds("resume")
    assert bench.json("status")["state"] == "succeeded"
    assert bench.json("why", "wait[1]")["attempts"][0]["attempt"] == 1
    assert len(bench.json("why", "wait[1]")["attempts"]) == 1, "what succeeded does not run again"


def test_ctrl_c_twice_stops_them_and_resume_goes_on(bench: Bench) -> None:
    bench.write(GATED)
    process = bench.start("run", *SMALL)
    bench.wait_for_file("begun_2")
    interrupt(process)
    assert process.stdout
    for line in process.stdout:
        if "stopping gently" in line:
            break
    interrupt(process)
    rest = process.stdout.read()
    assert process.wait(30) == 130
    assert "stopping at once: ending 2 running tasks" in rest
    (bench.directory / "go").touch()
    resumed = bench.json("resume")
    assert resumed["state"] == "succeeded"
    assert resumed["tasks"]["succeeded"] == 4
    story = bench.json("why", "wait[1]")
    assert [attempt["ending"] for attempt in story["attempts"]] == ["cancelled", "success"]


def test_cancel_stops_a_run_that_another_process_manages(bench: Bench) -> None:
    bench.write(GATED)
    process = bench.start("run", "-q", *SMALL)
    bench.wait_for_file("begun_2")
    answer = bench.json("cancel")
    assert answer["state"] == "stopped"
    assert process.wait(10) == 130
    assert "resume" in bench.succeeds("cancel"), "a second time it is stopped already"


def test_a_killed_manager_is_seen_and_its_tasks_can_be_cancelled(bench: Bench) -> None:
    bench.write(GATED)
    process = bench.start("run", "-q", *SMALL)
    bench.wait_for_file("begun_2")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    status = bench.json("status")
    assert (status["state"], status["tasks"]["running"], status["manager_pid"]) == ("interrupted", 2, None)
    output = bench.succeeds("status")
    assert "its manager is gone, nothing is lost" in output
    assert "→ headway resume 1" in output
    assert "headway resume 1" in bench.fails(4, "run"), "its tasks are still running"
    assert bench.json("cancel")["state"] == "stopped"
    (bench.directory / "go").touch()
    assert bench.json("resume")["tasks"]["succeeded"] == 4


def test_after_a_killed_manager_resume_takes_up_its_running_tasks(bench: Bench) -> None:
    bench.write(GATED)
    process = bench.start("run", "-q", *SMALL)
    bench.wait_for_file("begun_2")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    (bench.directory / "go").touch()
    resumed = bench.json("resume")
    assert resumed["tasks"]["succeeded"] == 4
    assert resumed["attempts"] == 4, "no task ran twice"


def test_every_attempt_is_launched_once_also_after_retries_and_a_resume(bench: Bench) -> None:
    """A task that had been retried was launched twice at once after a resume: it stood in the queue twice."""
    bench.write("""
        name: hungry
        tasks:
          eat:
            run: |
              touch try_$HEADWAY_TRY
              python3 -c "x = bytearray(150_000_000); import time; time.sleep(0.6)"
              while [ ! -e go ]; do sleep 0.05; done
            resources: {memory: 50 MB, cores: 0.1}
    """)
    process = bench.start("run", "-q", *SMALL)
    bench.wait_for_file("try_3")
    assert bench.json("cancel")["state"] == "stopped"
    process.wait(30)
    (bench.directory / "go").touch()
    resumed = bench.json("resume")
    database = sqlite3.connect(bench.directory / ".headway" / "runs" / "1" / "journal.db")
    launches = Counter(
        body
        for (body,) in database.execute("SELECT json_extract(body, '$.attempt') FROM records WHERE kind = 'launch'")
    )
    database.close()
    assert set(launches.values()) == {1}, launches
    assert resumed["tasks"]["waiting"] == resumed["tasks"]["running"] == 0


def test_a_run_that_is_over_cannot_be_resumed(finished: Bench) -> None:
    assert "run 2 is over (failed); `headway run` starts a new one" in finished.fails(2, "resume")


def test_there_is_nothing_to_resume_or_cancel(bench: Bench) -> None:
    for verb in ("resume", "cancel", "status"):
        assert "nothing has been run here" in bench.fails(2, verb)
