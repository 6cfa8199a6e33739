"""Run a workflow on a Slurm with a fast clock, with a manager that uses the fast time.

Usage: `python -m tests.slurm.fast_run CLOCK OPTIONS`, both JSON documents, in the workflow's directory. Commands and
managers in jobs use this module through `fast_site`, with the clock in the variable FAST_CLOCK. Headway reads the time
from `time.time`, so this program replaces that function; sleeps and waits still take machine time. Supervisors and
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
from headway.drivers.runs import start  # noqa: E402
from headway.formats.headway_yaml import read_workflow  # noqa: E402
from headway.model.outcome import Outcome  # noqa: E402
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


class FastFileConnection(file_connection.FileConnection):
    """A connection to a supervisor that uses machine time."""

    def send(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Start) and message.limits.walltime_s is not None:
            shorter = message.limits.replace(walltime_s=message.limits.walltime_s / CLOCK["speed"])
            message = structs.replace(message, limits=shorter)
        super().send(message)

    async def receive(self) -> protocol.ToManager | None:
        message = await super().receive()
        return protocol.Ended(translated(message.outcome)) if isinstance(message, protocol.Ended) else message


def use_fast_time() -> None:
    """Convert the times that supervisors report."""
    file_connection.FileConnection = FastFileConnection  # type: ignore[misc]


def main() -> int:
    use_fast_time()
    options = convert(json.loads(sys.argv[2]), RunSettings)
    _, status = start(read_workflow(Path("workflow.yaml")), Path.cwd(), options, source="workflow.yaml")
    return 0 if status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
