"""Points between a durable write and the action that follows it, at which tests can kill the process.

`HEADWAY_CRASH=claimed:3:FLAG` kills the first process that reaches the point `claimed` for the third time; the file
FLAG is created to record that. Without that variable a crash point costs one comparison.

`HEADWAY_CRASH=supervisor#17:FLAG` kills a supervisor before its 17th boundary, whatever that is: a named point, or
anything that Python is about to change outside of the process (a file, another process, a connection), as its audit
events tell. So boundaries need not be named by hand. `supervisor#0:FILE` kills nothing and lists them in FILE.
`supervisor#17+5:FLAG` also kills the next supervisor, before its 5th boundary; FLAG.2 records that.
"""

from __future__ import annotations

import os
import signal
import sys

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
    "reported",  # the manager was told, and has not acknowledged it
)
RELAY_POINTS = (  # of the process that passes messages between manager and supervisor, as files or over Dask
    "messages-read",  # the manager's messages are read and deleted, the supervisor does not have them
    "messages-passed",  # the supervisor has them
    "news-read",  # over Dask: messages of the supervisor are read, the manager does not have them
    "news-passed",  # over Dask: they are on their way to the manager
)
SCHEDULER_POINTS = (  # of the process that tells the manager where relays over Dask are
    "asked",  # a manager asks where a node's relay is
    "answered",  # the answer is on its way
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
STRIP_POINTS = (  # of a manager whose anchor is in strips
    "admitting",  # a job is to be admitted, the batch system was not told
)
EXPANSION_POINTS = (  # of a manager whose workflow has tasks that become known while it runs
    "expanded",  # an entry has become tasks, none of them is in the journal
)

_PLAN = os.environ.get("HEADWAY_CRASH", "")
_reached: dict[str, int] = {}
_PROCESSES = {"supervisor": "headway.workers.supervisor", "spawner": "spawner.py", "manager": "headway"}
_PROCESSES |= {"relay": "headway.workers.file_relay"}
_PROCESSES |= {"dask-relay": "headway.workers.pool.relay", "dask-scheduler": "headway.workers.pool.scheduler"}
_EVENTS = (
    *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod"),
    *("os.fork", "os.kill", "subprocess.Popen", "socket.bind", "socket.connect", "sqlite3.connect"),
)
_WRITING = os.O_WRONLY | os.O_CREAT  # what is opened to read and write is a lock that is looked at
_NOT_OURS = ("/proc/", "/dev/", "__pycache__", ".pyc")


def crash_point(name: str) -> None:
    """Kill this process if `$HEADWAY_CRASH` says so."""
    if not _PLAN:
        return
    if _boundaries is not None:
        _boundaries.reach(name)
    if "#" in _PLAN:
        return
    _reached[name] = _reached.get(name, 0) + 1
    wanted, count, flag = _PLAN.split(":", 2)
    if name == wanted and _reached[name] == int(count) and not os.path.exists(flag):
        os.close(os.open(flag, os.O_WRONLY | os.O_CREAT))
        os.kill(os.getpid(), signal.SIGKILL)


class _Boundaries:
    """Counts the boundaries of this process, and kills it before the one that is wanted."""

    def __init__(self, wanted: int, flag: str) -> None:
        self._wanted, self._flag = wanted, flag
        self._pid = os.getpid()  # a forked child is another process
        self._count = 0
        self._last = ""
        self._busy = False
        sys.addaudithook(self._see)

    def _see(self, event: str, details: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = details
            is_ours = isinstance(path, str | bytes) and not any(part in os.fsdecode(path) for part in _NOT_OURS)
            if is_ours and isinstance(flags, int) and flags & _WRITING:
                self.reach(f"open {os.fsdecode(path)}")  # type: ignore[arg-type]
        elif event in _EVENTS:
            name = f"{event} {details[0] if details else ''}"
            is_repeated = event == "socket.connect" and self._last == name  # one that is not answered
            if not is_repeated and not any(part in name for part in _NOT_OURS):
                self.reach(name)

    def reach(self, name: str) -> None:
        """Count a boundary."""
        if self._busy or os.getpid() != self._pid:
            return
        self._busy = True
        self._last = name
        self._count += 1
        if not self._wanted:
            with open(self._flag, "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{self._count} {name}\n")
        elif self._count == self._wanted and not os.path.exists(self._flag):
            with open(self._flag, "w", encoding="utf-8", errors="replace") as file:
                file.write(name)
            os.kill(self._pid, signal.SIGKILL)
        self._busy = False


def _this_process() -> str:
    words = sys.orig_argv
    return next((name for name, mark in _PROCESSES.items() if any(word.endswith(mark) for word in words[:6])), "")


def _planned() -> _Boundaries | None:
    """Read the plan for this process: which of the deaths that are wanted is the next."""
    process, _, words = _PLAN.partition("#")
    if not words or process != _this_process():
        return None
    numbers, _, file = words.partition(":")
    for turn, number in enumerate(numbers.split("+"), 1):
        flag = file if turn == 1 else f"{file}.{turn}"
        if not os.path.exists(flag):
            return _Boundaries(int(number), flag)
    return None


_boundaries = _planned()
