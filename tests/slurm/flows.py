"""Runs on a test's Slurm, started as a user does: from a workflow's directory, by the command line."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Finish, JobSeen, JobState, Launch, NodeUp, Submit, TaskEnded
from tests.forked import Forked, start_headway
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

PATIENCE_S = 900.0

STAGES = """
name: stages
tasks:
  split:
    each: {n: [1, 2, 3]}
    run: echo "split[{n}]" >> "$EXECUTIONS"; echo {n} > part-{n}
    outputs: ["part-{n}"]
  work:
    each: {n: [1, 2, 3]}
    run: echo "work[{n}]" >> "$EXECUTIONS"; sleep 0.2; expr $(cat part-{n}) + 10 > made-{n}
    inputs: ["part-{n}"]
    outputs: ["made-{n}"]
  total:
    run: echo total >> "$EXECUTIONS"; cat made-* > total
    inputs: ["made-*"]
    outputs: [total]
"""
STAGES_TASKS = 7
STAGES_TOTAL = "11\n12\n13\n"


class SlurmFlow:
    """A directory with a workflow file whose runs use a test's Slurm."""

    def __init__(
        self, lab: SlurmLab, parent: Path, workflow: str = STAGES, environment: Mapping[str, str] | None = None
    ) -> None:
        self.lab = lab
        self.directory = parent / "flow"
        self.directory.mkdir()
        (self.directory / "workflow.yaml").write_text(workflow)
        self._executions = parent / "executions"
        self._output = parent / "output"
        self._environment = {**lab.environment(), **(environment or {}), "EXECUTIONS": str(self._executions)}

    def start(self, *words: str, **environment: str) -> Forked | subprocess.Popen[bytes]:
        """Start a Headway command; `output` returns what it prints."""
        with self._output.open("ab") as output:
            place = output.fileno()
            return start_headway(words, self.directory, self.variables(environment), place, place)

    def run(self, argv: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start another command in the workflow's directory, as a user of this Slurm."""
        with self._output.open("ab") as output:
            return subprocess.Popen(
                argv,
                cwd=self.directory,
                env=self.variables(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**os.environ, "HEADWAY_HISTORY": "none", **self._environment, **(more or {})}

    def begin(self, *words: str, **environment: str) -> Forked | subprocess.Popen[bytes]:
        """Start a run on Slurm, with whole nodes unless the words say otherwise."""
        nodes = () if "--nodes" in words else ("--nodes", "whole")
        return self.start("run", "workflow.yaml", "--on", "slurm", *nodes, *words, **environment)

    def headway(self, *words: str, code: int = 0) -> None:
        """Run a Headway command to its end and assert that it exits with `code`."""
        self.await_end(self.start(*words), code)

    def await_end(
        self, command: Forked | subprocess.Popen[bytes], code: int = 0, patience_s: float = PATIENCE_S
    ) -> None:
        try:
            ended = command.wait(patience_s)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
            raise AssertionError(f"it did not end\n{self.output()}") from None
        assert ended == code, f"exit {ended}\n{self.output()}"
        assert "Traceback" not in self.output()

    def output(self) -> str:
        return self._output.read_text()[-4000:] if self._output.exists() else ""

    # --- from the journal ---

    def records(self) -> list[Event | Decision]:
        """Return all records so far in the newest run's journal."""
        runs = Project(self.directory).runs()
        if not runs or not runs[-1].journal.exists():
            return []
        return list(SqliteJournal(runs[-1].journal, read_only=True).replay())

    def outcomes(self) -> list[Outcome]:
        return [record.outcome for record in self.records() if isinstance(record, TaskEnded)]

    def launches(self) -> list[Launch]:
        return [record for record in self.records() if isinstance(record, Launch)]

    def successes(self) -> Counter[str]:
        """Count the successes of each task in the journal."""
        return Counter(outcome.task for outcome in self.outcomes() if outcome.ending is Ending.SUCCESS)

    def submitted(self) -> list[str]:
        """Return the tags of all jobs that the run decided to submit."""
        return [record.tag for record in self.records() if isinstance(record, Submit)]

    def partitions(self) -> dict[str, set[str]]:
        """Return the partitions in which tasks ran, by category."""
        seen = {one.tag: one.partition for one in self.records() if isinstance(one, JobSeen) and one.partition}
        found: dict[str, set[str]] = {}
        for launch in self.launches():
            found.setdefault(launch.task.partition("[")[0], set()).add(seen[launch.tag])
        return found

    def nodes(self) -> list[NodeUp]:
        return [record for record in self.records() if isinstance(record, NodeUp)]

    def job_states(self) -> list[JobState]:
        return [record for record in self.records() if isinstance(record, JobState)]

    def executed(self) -> Counter[str]:
        """Count how often each task's command started."""
        return Counter(self._executions.read_text().splitlines()) if self._executions.exists() else Counter()

    # --- from Slurm ---

    def jobs(self) -> dict[int, str]:
        """Return the names of this directory's jobs in the queue, by job id."""
        return self._listed()

    def jobs_ever(self) -> list[str]:
        """Return the names of all jobs of this directory that Slurm still lists, including ended ones."""
        return list(self._listed("-t", "all").values())

    def _listed(self, *which: str) -> dict[int, str]:
        rows = self.lab.run("squeue", "-h", "-a", *which, "-o", "%A %j %Z").stdout.splitlines()
        # The directory of another test's run may contain line ends.
        jobs = [row for row in (row.split(maxsplit=2) for row in rows) if len(row) == 3 and row[0].isdecimal()]
        return {int(number): name for number, name, directory in jobs if directory.startswith(str(self.directory))}

    def job_number(self, tag: str) -> int:
        return next(number for number, name in self.jobs().items() if name == tag)

    # --- waits and assertions ---

    def wait(self, command: Forked | subprocess.Popen[bytes], successes: int) -> None:
        """Wait until `successes` tasks have succeeded; fail if the command ends before."""

        def there() -> bool:
            assert command.poll() is None, self.output()
            return len(self.successes()) >= successes

        wait_until(there, f"{successes} tasks", patience_s=PATIENCE_S)

    def check(self, tasks: int = STAGES_TASKS) -> None:
        """Assert that every task has succeeded exactly once and no job is left."""
        records = self.records()
        finish = records[-1]
        assert isinstance(finish, Finish) and finish.status == "succeeded", self.output()
        successes = self.successes()
        assert len(successes) == tasks
        assert set(successes.values()) == {1}, successes.most_common(3)
        self.check_queue()

    def check_queue(self) -> None:
        """Wait until the queue is empty and all supervisors of the run have ended."""
        wait_until(lambda: not self.jobs(), "the queue to be empty")
        for lock in self.directory.glob(".headway/runs/*/jobs/*/nodes/*/lock"):
            pid = lock.read_text().strip()
            wait_until(lambda pid=pid: not pid or not os.path.exists(f"/proc/{pid}"), "a supervisor to leave")

    def total(self) -> str:
        return (self.directory / "total").read_text()
