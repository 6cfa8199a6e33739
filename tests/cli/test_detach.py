"""`run --detach` and `resume --detach`: real processes, a real terminal that hangs up."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.bench import SMALL, Bench

WAITS = """
    name: patient
    tasks:
      wait:
        run: grep SigIgn /proc/self/status > signals; touch started; while [ ! -e go ]; do sleep 0.05; done
      after:
        needs: [wait]
        run: echo done > done
"""
FAILS = "name: bad\ntasks:\n  bad:\n    run: exit 3\n"


def test_a_detached_run_goes_on_after_the_logout(bench: Bench) -> None:
    bench.write(WAITS)
    command = shlex.join([sys.executable, "-m", "headway", "run", "--detach", *SMALL])
    pid, terminal = pty.fork()
    if pid == 0:  # the leader of a session that has a terminal, as a login shell is
        os.chdir(bench.directory)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup make test` ignores it
        words = ["/bin/sh", "-c", f"{command} > said; echo $? > code.new; mv code.new code; sleep 1000"]
        os.execve("/bin/sh", words, bench.environment)
    bench.wait_for_file("code")
    assert (bench.directory / "code").read_text() == "0\n"
    os.kill(pid, signal.SIGHUP)
    os.close(terminal)
    os.waitpid(pid, 0)

    status = bench.json("status")
    manager = status["manager_pid"]
    assert status["state"] == "running"
    said = (bench.directory / "said").read_text()
    assert f"run 1 goes on in the background, as process {manager} on " in said
    assert "headway attach 1" in said
    assert os.getsid(manager) == manager, "a session of its own"
    os.kill(manager, signal.SIGHUP)
    bench.wait_for_file("started")
    assert bench.json("status")["state"] == "running"
    (bench.directory / "go").touch()
    assert bench.succeeds("attach").count("patient, run 1: succeeded") == 1
    assert (bench.directory / "done").exists()
    ignored = int((bench.directory / "signals").read_text().split()[1], 16)
    assert not ignored & 1 << (signal.SIGHUP - 1), "tasks do not inherit that hang-ups are ignored"

    log = bench.directory / ".headway" / "runs" / "1" / "manager.log"
    assert log.stat().st_mode & 0o777 == 0o600
    bench.wait_for(lambda: "run 1: succeeded" in log.read_text(), "the last words in the log")


@pytest.mark.parametrize(
    "words",
    [("nofile.yaml",), ("--cores", "none"), ("--sizer", "nobody"), ("--cores", "4000"), ("--plan", "asa")],
    ids=lambda words: "".join(words).strip("-"),
)
def test_an_error_before_the_run_begins_is_reported_as_without_detach(bench: Bench, words: tuple[str, ...]) -> None:
    bench.write(WAITS)
    plain, detached = bench("run", *words), bench("run", "--detach", *words)
    assert plain.returncode == 2
    assert (detached.returncode, detached.stderr, detached.stdout) == (2, plain.stderr, "")
    assert not (bench.directory / ".headway" / "runs").exists()


def test_only_one_manager(bench: Bench) -> None:
    bench.write(WAITS)
    answer = bench.json("run", "--detach", *SMALL)
    assert (answer["run"], answer["exit_code"]) == ("1", None)
    assert Path(answer["log"]).exists()
    assert "another Headway is at work here" in bench.fails(4, "run", "--detach", *SMALL)
    assert "another Headway is at work here" in bench.fails(4, "resume", "--detach")
    assert "run 1 is stopped" in bench.succeeds("cancel")


def test_a_run_that_fails_soon(bench: Bench) -> None:
    """It may be over before the command returns, and then the command tells of it."""
    bench.write(FAILS)
    done = bench("run", "--detach", *SMALL)
    assert (done.returncode, "run 1: failed" in done.stdout) in ((0, False), (1, True)), done.stdout
    assert bench("attach").returncode == 1
    assert done.stderr == ""


def test_resume_in_the_background(bench: Bench) -> None:
    bench.write(WAITS)
    bench.succeeds("run", "--detach", *SMALL)
    bench.wait_for_file("started")
    bench.succeeds("cancel")
    assert "run 1 goes on in the background" in bench.succeeds("resume", "--detach")
    (bench.directory / "go").touch()
    assert json.loads(bench.succeeds("attach", "--json"))["state"] == "succeeded"
    log = (bench.directory / ".headway" / "runs" / "1" / "manager.log").read_text()
    assert log.count("--- ") == 2, "one log of both managers"


def test_attach_reports_a_killed_manager_and_resume_replaces_it(bench: Bench) -> None:
    bench.write(WAITS)
    manager = bench.json("run", "--detach", *SMALL)["manager_pid"]
    bench.wait_for_file("started")
    os.kill(manager, signal.SIGKILL)
    bench.wait_for(lambda: bench.json("status")["state"] == "interrupted", "the end of the manager")
    error = bench.fails(3, "attach", "--quiet")
    assert f"run 1 has no manager any more: its manager (process {manager} on " in error
    assert "was killed or crashed; nothing is lost; `headway resume --detach 1` goes on with it" in error
    assert "`headway resume 1` goes on with it" in bench.fails(4, "run", "--detach", *SMALL)
    assert bench.json("resume", "--detach")["manager_pid"] != manager
    (bench.directory / "go").touch()
    bench.succeeds("attach", "--quiet")


def test_a_dry_run_cannot_be_detached(bench: Bench) -> None:
    bench.write(WAITS)
    assert "a dry run is over at once" in bench.fails(2, "run", "--detach", "-n")


def test_the_log_has_the_level_that_was_asked_for(bench: Bench) -> None:
    """The option, the variable and the settings file reach the background manager and its supervisors."""
    bench.write("name: probe\ntasks:\n  a: {run: 'echo level=${HEADWAY_LOG_LEVEL-}'}\n")
    bench.write('log-level = "debug"\n', "headway.toml")
    assert "is not a log level; choose one of debug" in bench.fails(2, "run", "--detach", HEADWAY_LOG_LEVEL="loud")
    for number, (words, environment, levels) in enumerate(
        (
            ((), {}, {"DEBUG", "INFO"}),
            ((), {"HEADWAY_LOG_LEVEL": "info"}, {"INFO"}),
            (("--log-level", "error"), {"HEADWAY_LOG_LEVEL": "info"}, set()),
        ),
        start=1,
    ):
        bench.succeeds("run", "--detach", "--again", *words, *SMALL, **environment)
        bench.succeeds("attach", "-q")
        assert bench.json("logs", "a")["stdout"].strip() == "level=", "tasks do not inherit it"
        folder = bench.directory / ".headway" / "runs" / str(number)
        logs = [folder / "manager.log", *folder.glob("jobs/*/log")]
        written = "".join(log.read_text() for log in logs)
        assert {level for level in ("DEBUG", "INFO") if f" {level} " in written} == levels
