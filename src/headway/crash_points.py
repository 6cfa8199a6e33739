"""Named points between a durable write and the action that follows it, at which tests can kill the process.

`HEADWAY_CRASH=claimed:3:FLAG` kills the first process that reaches the point `claimed` for the third time; the file
FLAG is created to record that. Without that variable a crash point costs one comparison.
"""

from __future__ import annotations

import os
import signal

# All crash points, in the order in which a task reaches them. The chaos tests use each of them.
MANAGER_POINTS = (
    "run-created",  # the run's folder exists, its journal does not
    "journalled",  # records are in the journal, none was acted on
    "submitted",  # the job was submitted, the cluster's answer is not recorded
    "launched",  # the supervisor has the start message
    "ended",  # an outcome arrived, it is not in the journal
    "acknowledged",  # the outcome is in the journal and the supervisor has dropped its copy
    "released",  # the job was released, the run is not finished
)
SUPERVISOR_POINTS = (
    "claimed",  # the attempt's folder exists, the command was not started
    "spawned",  # the command has ended, no result is written
    "result-written",  # the result is written, no output is in the workflow's directory
    "renamed",  # at least one output is in the workflow's directory
    "published",  # all outputs are in the workflow's directory, the manager was not told
)
POOL_POINTS = (  # of a pool's manager, besides those of every manager
    "handed-over",  # a workflow's attempt has arrived, it is not in the pool's journal
    "end-told",  # an attempt's end is in the journal and on its way to the workflow
    "noted",  # the workflow has the end in its own journal
)
HAND_OVER_POINTS = (  # of a manager in a job, besides those of every manager
    "successor-due",  # the time to submit the next manager's job has come
    "successor-submitted",  # the next manager's job is in the queue
    "ready",  # the next manager has started and waits for its turn
    "leaving",  # the next manager is ready, or the time is nearly up: the run is about to be left
    "left",  # the run is left, the process has not ended
    "taking-over",  # the last manager is over, the next one has not read the journal
)
CHAIN_POINTS = (  # of a manager whose tasks go on in other jobs
    "noticed",  # a task was told to save its checkpoint, and has not ended
)

_PLAN = os.environ.get("HEADWAY_CRASH", "")
_reached: dict[str, int] = {}


def crash_point(name: str) -> None:
    """Kill this process if `$HEADWAY_CRASH` says so."""
    if not _PLAN:
        return
    _reached[name] = _reached.get(name, 0) + 1
    wanted, count, flag = _PLAN.split(":", 2)
    if name == wanted and _reached[name] == int(count) and not os.path.exists(flag):
        os.close(os.open(flag, os.O_WRONLY | os.O_CREAT))
        os.kill(os.getpid(), signal.SIGKILL)
