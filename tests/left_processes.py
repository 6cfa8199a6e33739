"""End the processes that a failed test left behind.

Every test has a mark of its own in its environment, which all processes that it starts inherit: managers in the
background, supervisors, tasks, jobs of a test's Slurm.
"""

from __future__ import annotations

import os
import signal
import uuid
from contextlib import suppress
from pathlib import Path

VARIABLE = "STARTED_BY_TEST"
SESSION = uuid.uuid4().hex
_forked: dict[int, str] = {}


def mark_environment(test: str) -> str:
    """Set this process's mark, for the processes it starts from now on, and return it."""
    mark = f"{SESSION}/{uuid.uuid5(uuid.NAMESPACE_OID, test).hex}"
    os.environ[VARIABLE] = mark
    return mark


def mark_forked(pid: int, mark: str) -> None:
    """Remember the mark of a process whose environment cannot hold it: it was forked and not executed."""
    _forked[pid] = mark


def end_processes(mark: str) -> list[int]:
    """Kill all processes whose environment holds `mark`; return their ids.

    Processes start others while they are being killed, so look again until none is found.
    """
    ended: list[int] = []
    while found := marked_processes(mark):
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended += [pid for pid in found if pid not in ended]
    return ended


def marked_processes(mark: str) -> list[int]:
    """Find running processes by the mark in their environment, zombies and this process left out."""
    wanted = f"{VARIABLE}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            pid = int(folder.name)
            if pid != os.getpid() and (wanted in (folder / "environ").read_bytes() or _is_forked(folder, mark)):
                found.append(pid)
    return found


def _is_forked(folder: Path, mark: str) -> bool:
    """Whether a process was forked with a mark, and is no other process with the same id now."""
    is_marked = _forked.get(int(folder.name), "").startswith(mark)
    return is_marked and b"tests.forked" in (folder / "cmdline").read_bytes()
