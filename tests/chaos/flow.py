"""A workflow to be tormented: 60 short tasks, most with outputs, some in place, and how to run it in pieces."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.outcome import Ending
from headway.model.records import Finish, TaskEnded

WIDTH = 18
TASKS = 3 * WIDTH + 6  # 60

# Every execution leaves a line in a log outside the workflow's directory, so that a second one would show.
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
    """One run of the workflow, in a directory of its own, that can be killed and resumed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = place / "flow"
        self.directory.mkdir(parents=True)
        (self.directory / "workflow.yaml").write_text(WORKFLOW)
        self.executions = place / "executions"
        self.flag = place / "crashed"
        self.started = False

    def launch(self, crash: str = "") -> subprocess.Popen[bytes]:
        """Start a manager: the first runs, the others resume."""
        verb = ["resume"] if Project(self.directory).runs() else ["run", "workflow.yaml"]
        environment = os.environ | {"EXECUTIONS": str(self.executions)}
        if crash:
            environment["HEADWAY_CRASH"] = f"{crash}:{self.flag}"
        with (self.place / "output").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "headway", *verb],
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill_after(self, seconds: float) -> bool:
        """Kill a manager after so many seconds; False if it was faster."""
        manager = self.launch()
        try:
            manager.wait(seconds)
        except subprocess.TimeoutExpired:
            manager.send_signal(signal.SIGKILL)
            manager.wait()
            return True
        return False

    def finish(self) -> None:
        """Resume until the end."""
        manager = self.launch()
        assert manager.wait(120) == 0, self.output()

    def output(self) -> str:
        return (self.place / "output").read_text()[-3000:]

    def finished(self) -> bool:
        """Whether the newest run is over."""
        runs = Project(self.directory).runs()
        records = list(SqliteJournal(runs[-1].journal, read_only=True).replay()) if runs else []
        return bool(records) and isinstance(records[-1], Finish) and records[-1].status == "succeeded"

    def supervisors(self) -> list[int]:
        """Process ids of the supervisors that live."""
        locks = self.directory.glob(".headway/runs/*/jobs/*/lock")
        pids = [int(lock.read_text() or 0) for lock in locks]
        return [pid for pid in pids if pid and os.path.exists(f"/proc/{pid}")]

    def successes(self) -> Counter[str]:
        """How often each task's success is in the journal."""
        journal = SqliteJournal(Project(self.directory).run().journal, read_only=True)
        ends = (record.outcome for record in journal.replay() if isinstance(record, TaskEnded))
        return Counter(outcome.task for outcome in ends if outcome.ending is Ending.SUCCESS)

    def executed(self) -> Counter[str]:
        """How often each task's command began."""
        return Counter(self.executions.read_text().split("\n")[:-1])

    def results(self) -> dict[str, str]:
        """All outputs."""
        files = (path for path in self.directory.rglob("*") if path.is_file() and ".headway" not in path.parts)
        return {str(path.relative_to(self.directory)): path.read_text() for path in files}

    def check(self, undisturbed: dict[str, str], *, once: bool) -> None:
        """Every success exactly once, outputs as they should be, nothing left running."""
        assert self.finished(), self.output()
        successes = self.successes()
        assert len(successes) == TASKS, f"{TASKS - len(successes)} tasks are missing"
        assert set(successes.values()) == {1}, successes.most_common(3)
        if once:
            assert set(self.executed().values()) == {1}, self.executed().most_common(3)
        assert self.results() == undisturbed
        deadline = time.monotonic() + 20
        while self.supervisors():
            assert time.monotonic() < deadline, "a supervisor outlived its run"
            time.sleep(0.05)


def undisturbed(place: Path) -> dict[str, str]:
    """What the workflow makes when nobody disturbs it."""
    torment = Torment(place)
    torment.finish()
    results = torment.results()
    torment.check(results, once=True)
    return results


def torment_managers(place: Path, expected: dict[str, str], kills: int, seed: int) -> int:
    """Kill managers at random moments of one run, at most `kills` of them; returns how many died."""
    draw = random.Random(seed)
    torment = Torment(place)
    died = 0
    while died < kills and not torment.finished():
        died += torment.kill_after(draw.uniform(0.15, 1.0))
    if not torment.finished():
        torment.finish()
    torment.check(expected, once=True)
    return died
