"""What a resumed run made is reused by the next run, after any sequence of edits, runs, kills and resumes."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.end_to_end.project import Flow, wait_until

STEPS = ("edit", "run", "interrupt", "kill", "resume")


class Edited(Flow):
    """A producer that can be edited, and three consumers."""

    version = 0

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "")
        self.edit()

    def edit(self) -> None:
        self.version += 1
        self.write(f"""
name: edited
tasks:
  make:
    run: echo {self.version} > made
    outputs: [made]
  use:
    each: {{n: [1, 2, 3]}}
    run: sleep 0.3; cat made > used-{{n}}
    inputs: [made]
    outputs: ["used-{{n}}"]
""")

    def stop(self, by: signal.Signals) -> None:
        """Start a run, and signal its manager as soon as a task has ended, or at the end of a run without tasks."""
        ended_before = self._ended_attempts()
        process = self.start("run", "--cores", "1")
        wait_until(lambda: process.poll() is not None or self._ended_attempts() > ended_before)
        process.send_signal(by)
        process.communicate(timeout=300)

    def _ended_attempts(self) -> int:
        return len(list(self.directory.glob(".headway/runs/*/tasks/*/*/result.json")))

    def take(self, step: str) -> None:
        match step:
            case "edit":
                self.edit()
            case "interrupt":
                self.stop(signal.SIGINT)
            case "kill":
                self.stop(signal.SIGKILL)
            case "resume" if list(self.directory.glob(".headway/runs/*")):
                self.headway("resume", code=None)
            case "run":
                if self.headway("run", code=None).returncode:  # a killed run's tasks are still running
                    self.headway("resume")
                    self.headway("run")


@given(st.lists(st.sampled_from(STEPS), max_size=4))
@example(["run", "run", "edit", "interrupt", "resume"])
@example(["run", "run", "edit", "kill", "resume"])
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_run_repeats_nothing_that_an_earlier_one_made(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        flow = Edited(Path(directory))
        for step in steps:
            flow.take(step)
        latest = [step for step in steps if step != "resume"][-1:]
        if steps[-1:] != ["resume"] or latest in ([], ["edit"]):
            flow.take("run")
        flow.headway("run")
        assert flow.launches() == [], steps
        assert (Path(directory) / "used-3").read_text() == f"{flow.version}\n"
