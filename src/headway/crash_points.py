"""Named points between a durable write and the act that follows it, at which tests can kill the process.

`HEADWAY_CRASH=claimed:3:FLAG` kills, once, a process that reaches the point `claimed` for the third time; the file FLAG
then says that it happened. Without that variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal

# Every point, in the order in which a task comes by: the chaos tests go through this list.
MANAGER_POINTS = (
    "run-created",  # the run's folder exists, its journal does not
    "journalled",  # records are durable, nothing was acted on
    "submitted",  # the job was asked for, nobody knows its answer
    "launched",  # the supervisor has the launch
    "ended",  # an outcome arrived, it is not in the journal
    "acknowledged",  # the outcome is in the journal and the supervisor has forgotten it
    "released",  # the job was given back, the run is not finished
)
SUPERVISOR_POINTS = (
    "claimed",  # the attempt's directory exists, nothing was started
    "spawned",  # the command has ended, nothing was written about it
    "result-written",  # the result is durable, no output is in place
    "renamed",  # one output is in place, perhaps not all
    "published",  # all outputs are in place, the manager does not know
)

_PLAN = os.environ.get("HEADWAY_CRASH", "")
_reached: dict[str, int] = {}


def crash_point(name: str) -> None:
    """Die here if the tests want it."""
    if not _PLAN:
        return
    _reached[name] = _reached.get(name, 0) + 1
    wanted, count, flag = _PLAN.split(":", 2)
    if name == wanted and _reached[name] == int(count) and not os.path.exists(flag):
        os.close(os.open(flag, os.O_WRONLY | os.O_CREAT))
        os.kill(os.getpid(), signal.SIGKILL)
