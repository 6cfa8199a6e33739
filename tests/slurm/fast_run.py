"""Run a workflow on a Slurm with a fast clock, with a manager that uses the fast time.

Usage: `python -m tests.slurm.fast_run CLOCK OPTIONS [resume]` in the workflow's directory, with two JSON documents;
`resume` goes on with the newest run. With AT_END set, no job is submitted ahead for a task that checkpoints. Commands
and managers in jobs use this module through `fast_site`, with the clock in the variable FAST_CLOCK. Headway reads the
time from `time.time`, so this program replaces that function; sleeps and waits still take machine time. Supervisors and
tasks use machine time: their measurements are converted to fast time, and their limits to machine time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

CLOCK = json.loads(os.environ.get("FAST_CLOCK") or sys.argv[1])
_machine_time = time.time


def in_fast_time(at: float) -> float:
    """Convert the machine time `at` to fast time."""
    return float(CLOCK["started_at"] + (at - CLOCK["started_at"]) * CLOCK["speed"])


time.time = lambda: in_fast_time(_machine_time())  # before any other module imports the original

from msgspec import convert, structs  # noqa: E402

from headway.drivers.run_settings import RunSettings  # noqa: E402
from headway.drivers.runs import resume, start  # noqa: E402
from headway.formats.headway_yaml import read_workflow  # noqa: E402
from headway.journal.folder import Project  # noqa: E402
from headway.model.outcome import Outcome  # noqa: E402
from headway.planning.headway import Headway  # noqa: E402
from headway.workers import file_connection, protocol  # noqa: E402


def translated(outcome: Outcome) -> Outcome:
    """Convert the times in a supervisor's outcome to fast time."""
    wall = outcome.usage.wall_s
    longer = None if wall is None else structs.replace(wall, value=wall.value * CLOCK["speed"])
    return structs.replace(
        outcome,
        started_at=in_fast_time(outcome.started_at),
        ended_at=in_fast_time(outcome.ended_at),
        usage=structs.replace(outcome.usage, wall_s=longer),
    )


def in_machine_time(start: protocol.Start) -> protocol.Start:
    """Convert the times in a start message to machine time."""
    limit_s, ends_at, speed = start.limits.walltime_s, start.ends_at, CLOCK["speed"]
    return structs.replace(
        start,
        task=structs.replace(start.task, notice_s=start.task.notice_s / speed),
        limits=start.limits if limit_s is None else start.limits.replace(walltime_s=limit_s / speed),
        ends_at=None if ends_at is None else CLOCK["started_at"] + (ends_at - CLOCK["started_at"]) / speed,
    )


class FastFileConnection(file_connection.FileConnection):
    """A connection to a supervisor that uses machine time."""

    def send(self, message: protocol.Message) -> None:
        super().send(in_machine_time(message) if isinstance(message, protocol.Start) else message)

    async def receive(self) -> protocol.ToManager | None:
        message = await super().receive()
        return protocol.Ended(translated(message.outcome)) if isinstance(message, protocol.Ended) else message


def use_fast_time() -> None:
    """Convert the times that supervisors report."""
    file_connection.FileConnection = FastFileConnection  # type: ignore[misc]


def main() -> int:
    use_fast_time()
    if "AT_END" in os.environ:  # the next job of a task that checkpoints is submitted when the task has left the last
        Headway._chain = lambda planner, view, now: []
    options = convert(json.loads(sys.argv[2]), RunSettings)
    if sys.argv[3:] == ["resume"]:
        return 0 if resume(Project(Path.cwd()).runs()[-1], options) == "succeeded" else 1
    _, status = start(read_workflow(Path("workflow.yaml")), Path.cwd(), options, source="workflow.yaml")
    return 0 if status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
