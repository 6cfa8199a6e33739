"""A workflow of 60 short tasks, most of them with outputs, whose manager can be killed and resumed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.outcome import Ending
from headway.model.records import Finish, TaskEnded
from headway.workers.trees.processes import read_process
from tests.kills import add as count_kills

WIDTH = 18
TASKS = 3 * WIDTH + 6  # 60

# Every execution appends a line to a log outside the workflow's directory, so that a repeated one would be noticed.
WORKFLOW = f"""
name: tormented
tasks:
  seed:
    run: echo seed >> "$EXECUTIONS"; echo 1 > seed
    outputs: [seed]
  split:
    each: {{n: [{", ".join(str(n) for n in range(WIDTH))}]}}
    run: |
      echo "split[{{n}}]" >> "$EXECUTIONS"
      echo {{n}} half > first_{{n}}; sleep 0.0{{n}}; echo {{n}} > second_{{n}}
    inputs: [seed]
    outputs: ["first_{{n}}", "second_{{n}}"]
  work:
    each: {{n: [{", ".join(str(n) for n in range(WIDTH))}]}}
    run: |
      echo "work[{{n}}]" >> "$EXECUTIONS"
      sleep 0.02; mkdir made_{{n}}; cat first_{{n}} second_{{n}} > made_{{n}}/a; wc -c < made_{{n}}/a > made_{{n}}/b
    inputs: ["first_{{n}}", "second_{{n}}"]
    outputs: ["made_{{n}}"]
  place:
    each: {{n: [{", ".join(str(n) for n in range(WIDTH))}]}}
    needs: ["work[{{n}}]"]
    run: echo "place[{{n}}]" >> "$EXECUTIONS"; sleep 0.01
  gather:
    each: {{k: [0, 1, 2, 3]}}
    needs: [place]
    run: echo "gather[{{k}}]" >> "$EXECUTIONS"; cat made_*/a made_*/b | sort > gathered_{{k}}
    inputs: ["made_*"]
    outputs: ["gathered_{{k}}"]
  total:
    run: echo total >> "$EXECUTIONS"; cat gathered_* | sort | uniq -c > total
    inputs: ["gathered_*"]
    outputs: [total]
"""


class Torment:
    """One run of the workflow, in its own directory, that can be killed and resumed."""

    def __init__(self, parent: Path) -> None:
        self.parent = parent
        self.directory = parent / "flow"
        self.directory.mkdir(parents=True)
        (self.directory / "workflow.yaml").write_text(WORKFLOW)
        self.executions = parent / "executions"
        self.flag = parent / "crashed"
        self.started = False

    def launch(self, crash: str = "", module: str = "headway", **variables: str) -> subprocess.Popen[bytes]:
        """Start a manager: the first call starts the run, later calls resume it."""
        verb = ["resume"] if Project(self.directory).runs() else ["run", "workflow.yaml"]
        environment = os.environ | {"EXECUTIONS": str(self.executions)} | variables
        if crash:
            environment["HEADWAY_CRASH"] = f"{crash}:{self.flag}"
        with (self.parent / "output").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", module, *verb],
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill_after(self, seconds: float) -> bool:
        """Start a manager and kill it after `seconds`; return False if it ended before."""
        manager = self.launch()
        try:
            manager.wait(seconds)
        except subprocess.TimeoutExpired:
            manager.send_signal(signal.SIGKILL)
            manager.wait()
            count_kills()
            return True
        return False

    def finish(self) -> None:
        """Start or resume the run and assert that it succeeds."""
        manager = self.launch()
        assert manager.wait(120) == 0, self.output()

    def output(self) -> str:
        return (self.parent / "output").read_text()[-3000:]

    def finished(self) -> bool:
        """Return whether the newest run has succeeded."""
        runs = Project(self.directory).runs()
        records = list(SqliteJournal(runs[-1].journal, read_only=True).replay()) if runs else []
        return bool(records) and isinstance(records[-1], Finish) and records[-1].status == "succeeded"

    def crashed(self, turn: int) -> Path:
        """Return the file that says where a process was killed, the first one, or a later one."""
        return self.flag if turn == 1 else Path(f"{self.flag}.{turn}")

    def supervisors(self) -> list[int]:
        """Return the process ids of live supervisors."""
        locks = self.directory.glob(".headway/runs/*/jobs/*/lock")
        pids = [int(lock.read_text() or 0) for lock in locks]
        return [pid for pid in pids if pid and os.path.exists(f"/proc/{pid}")]

    def spawners(self) -> list[int]:
        """Return the process ids of live spawners."""
        children = (pid for supervisor in self.supervisors() for pid in _children(supervisor))
        return [pid for pid in children if b"spawner.py" in _command_line(pid)]

    def successes(self) -> Counter[str]:
        """Count the successes of each task in the journal."""
        journal = SqliteJournal(Project(self.directory).run().journal, read_only=True)
        ends = (record.outcome for record in journal.replay() if isinstance(record, TaskEnded))
        return Counter(outcome.task for outcome in ends if outcome.ending is Ending.SUCCESS)

    def executed(self) -> Counter[str]:
        """Count how often each task's command started."""
        return Counter(self.executions.read_text().split("\n")[:-1])

    def count_started(self) -> int:
        """Count how many commands have started so far."""
        return self.executions.read_text().count("\n") if self.executions.exists() else 0

    def results(self) -> dict[str, str]:
        """Return the contents of all files in the workflow's directory, by path."""
        files = (path for path in self.directory.rglob("*") if path.is_file() and ".headway" not in path.parts)
        return {str(path.relative_to(self.directory)): path.read_text() for path in files}

    def check(self, undisturbed: dict[str, str], *, once: bool) -> None:
        """Assert that every task succeeded exactly once, outputs are correct, and no supervisor still runs.

        With `once`, also assert that every command started only once.
        """
        assert self.finished(), self.output()
        successes = self.successes()
        assert len(successes) == TASKS, f"{TASKS - len(successes)} tasks are missing"
        assert set(successes.values()) == {1}, successes.most_common(3)
        if once:
            assert set(self.executed().values()) == {1}, self.executed().most_common(3)
        assert self.results() == undisturbed
        self.check_no_supervisor()

    def check_no_supervisor(self) -> None:
        """Assert that the run's supervisors end."""
        deadline = time.monotonic() + 60
        while self.supervisors():
            assert time.monotonic() < deadline, "a supervisor outlived its run"
            time.sleep(0.05)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # it has ended
        return []


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def undisturbed(parent: Path) -> dict[str, str]:
    """Run the workflow without any kill and return its outputs."""
    torment = Torment(parent)
    torment.finish()
    results = torment.results()
    torment.check(results, once=True)
    return results


def torment_managers(parent: Path, expected: dict[str, str], kills: int, seed: int) -> int:
    """Kill at most `kills` managers of one run at random moments, and return how many were killed."""
    draw = random.Random(seed)
    torment = Torment(parent)
    died = 0
    while died < kills and not torment.finished():
        died += torment.kill_after(draw.uniform(0.15, 1.0))
    if not torment.finished():
        torment.finish()
    torment.check(expected, once=True)
    return died


def torment_supervisors(parent: Path, expected: dict[str, str], kills: int, seed: int, also: Sequence[str] = ()) -> int:
    """Kill at most `kills` supervisors of one run, and return how many were killed.

    With each of them die `also` its "spawner" and the run's "manager", at the same moment. Nothing manages the run
    after each kill until all commands have ended by themselves: then none may run again.
    """
    draw = random.Random(seed)
    torment = Torment(parent)
    manager = torment.launch()
    died, seen = 0, 0
    while manager.poll() is None and died < kills:
        time.sleep(draw.uniform(0.0, 0.15))
        spawners = torment.spawners()
        if torment.count_started() == seen or not spawners:  # the supervisor has not answered yet
            continue
        manager.send_signal(signal.SIGKILL if "manager" in also else signal.SIGSTOP)
        supervisors, witnesses = torment.supervisors(), [pid for spawner in spawners for pid in _children(spawner)]
        for pid in (*supervisors, *(spawners if "spawner" in also else ())):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for_end([*supervisors, *spawners, *witnesses])
        died += len(supervisors)
        seen = torment.count_started()
        if "manager" in also:
            manager.wait()
            manager = torment.launch()
        else:
            manager.send_signal(signal.SIGCONT)
    assert manager.wait(300) == 0, torment.output()
    torment.check(expected, once=True)
    return count_kills(died)


def wait_for_end(pids: Iterable[int]) -> None:
    """Wait until these processes have ended; dead ones that nobody has reaped count as ended."""
    deadline = time.monotonic() + 120
    for pid in pids:
        while (process := read_process(pid)) is not None and not process.dead:
            assert time.monotonic() < deadline, f"process {pid} does not end"
            time.sleep(0.005)


def torment_spawners(parent: Path, expected: dict[str, str], kills: int, seed: int) -> int:
    """Kill at most `kills` spawners of one run at random moments, and return how many were killed."""
    draw = random.Random(seed)
    torment = Torment(parent)
    manager = torment.launch()
    died, give_up_s = 0, time.monotonic() + 300
    while manager.poll() is None:
        assert time.monotonic() < give_up_s, f"the run hangs: {torment.output()}"
        time.sleep(draw.uniform(0.02, 0.2))
        for pid in torment.spawners() if died < kills else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                died += 1
    assert manager.returncode == 0, torment.output()
    torment.check(expected, once=False)
    return count_kills(died)
