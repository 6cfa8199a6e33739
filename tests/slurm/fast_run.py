"""A run on a Slurm with a fast clock, whose manager lives in that Slurm's time.

`python -m tests.slurm.fast_run CLOCK OPTIONS`, two JSON documents, in the directory of a workflow. Headway has its time
from `time.time`, so that is what goes faster here; what waits for a moment waits as long as ever. Supervisors and tasks
live in the machine's time: what they measured is put into Slurm's on its way in, and their limits on the way out.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

CLOCK = json.loads(sys.argv[1])
_machine_time = time.time


def in_fast_time(at: float) -> float:
    """What the fast clock shows when the machine's shows `at`."""
    return float(CLOCK["started_at"] + (at - CLOCK["started_at"]) * CLOCK["speed"])


time.time = lambda: in_fast_time(_machine_time())  # before anybody takes the other one

from msgspec import convert, structs  # noqa: E402

from headway.drivers.run_settings import RunSettings  # noqa: E402
from headway.drivers.runs import start  # noqa: E402
from headway.formats.headway_yaml import read_workflow  # noqa: E402
from headway.model.outcome import Outcome  # noqa: E402
from headway.workers import file_connection, protocol  # noqa: E402


def translated(outcome: Outcome) -> Outcome:
    """What a supervisor said, in fast time."""
    wall = outcome.usage.wall_s
    longer = None if wall is None else structs.replace(wall, value=wall.value * CLOCK["speed"])
    return structs.replace(
        outcome,
        started_at=in_fast_time(outcome.started_at),
        ended_at=in_fast_time(outcome.ended_at),
        usage=structs.replace(outcome.usage, wall_s=longer),
    )


class FastFileConnection(file_connection.FileConnection):
    """The line to a supervisor that lives in the machine's time."""

    def send(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Start) and message.limits.walltime_s is not None:
            shorter = message.limits.replace(walltime_s=message.limits.walltime_s / CLOCK["speed"])
            message = structs.replace(message, limits=shorter)
        super().send(message)

    async def receive(self) -> protocol.ToManager | None:
        message = await super().receive()
        return protocol.Ended(translated(message.outcome)) if isinstance(message, protocol.Ended) else message


def main() -> int:
    file_connection.FileConnection = FastFileConnection  # type: ignore[misc]
    options = convert(json.loads(sys.argv[2]), RunSettings)
    _, status = start(read_workflow(Path("workflow.yaml")), Path.cwd(), options, source="workflow.yaml")
    return 0 if status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
