"""The processes of a test's Slurm: its daemons, which are our children, and its jobs, which are not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.left_processes import VARIABLE

PATIENCE_S = 120.0


def start_daemon(argv: list[str], log: Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a daemon in foreground mode, in its own session.

    The daemon ignores SIGPIPE, as every service of systemd does. Otherwise slurmd dies of it when the
    controller closes a connection early: it blocks the signal only some time after its start.
    """
    with log.open("ab") as out:
        return subprocess.Popen(
            ["env", "--ignore-signal=PIPE", *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**_without_mark(), **(environment or {})},
            cwd="/",
            start_new_session=True,
        )


def _without_mark() -> dict[str, str]:
    """Return our environment without the test's mark: a daemon serves many tests and must survive a failed one."""
    return {name: value for name, value in os.environ.items() if name != VARIABLE}


def wait_until(happened: Callable[[], bool], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Poll until `happened` returns true; raise TimeoutError with `what` after `patience_s`."""
    deadline = time.monotonic() + patience_s
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience_s:.0f} s for {what}")
        time.sleep(0.03)


def of_jobs(root: Path, node: str | None = None) -> set[int]:
    """Find the processes of a Slurm's jobs, on one node or on all: slurmstepds, their descendants, and detached ones.

    A slurmstepd overwrites its own environment, but keeps its node's log open. A process that a job started and that
    then detached itself still has Slurm's environment variables.
    """
    logs = f"{root}/log/slurmd.{node}.log" if node else f"{root}/log/slurmd."
    parents = {pid: parent for pid in _pids() if (parent := _parent(pid)) is not None}
    found = {pid for pid in parents if _is_step(pid, logs) or _is_of_job(pid, root, node)}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def mentioning(root: Path) -> set[int]:
    """Find the processes that have a Slurm's folder in their command line."""
    found = set()
    for pid in _pids():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if str(root).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def configured_by(root: Path) -> set[int]:
    """Find the processes whose SLURM_CONF names this Slurm: its daemons, jobs and clients."""
    return {pid for pid in _pids() if f"SLURM_CONF={root}/etc/slurm.conf".encode() in _variables(pid)}


def is_alive(pid: int) -> bool:
    return _parent(pid) is not None


def kill_all(pids: Iterable[int], how: signal.Signals = signal.SIGKILL) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)


def kill_jobs(root: Path, node: str | None = None) -> None:
    """Kill all processes of a Slurm's jobs, on one node or on all, including those started meanwhile.

    All of them are stopped first, so that none sees the death of another, as when a node loses its power.
    """

    def gone() -> bool:
        alive = of_jobs(root, node)
        kill_all(alive, signal.SIGSTOP)
        kill_all(alive)
        return not alive

    wait_until(gone, f"the end of all processes of jobs of {root}")


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent(pid: int) -> int | None:
    """Return the parent's process id, or None for a process that has ended, even if it is still a zombie."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if after_name[0] in "ZX" else int(after_name[1])


def _is_step(pid: int, logs: str) -> bool:
    try:
        if not Path(f"/proc/{pid}/comm").read_text().startswith("slurmstepd"):
            return False
        return any(os.readlink(entry.path).startswith(logs) for entry in os.scandir(f"/proc/{pid}/fd"))
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return False


def _variables(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return []


def _is_of_job(pid: int, root: Path, node: str | None) -> bool:
    variables = _variables(pid)
    if f"SLURM_CONF={root}/etc/slurm.conf".encode() not in variables:
        return False
    return any(
        one == f"SLURMD_NODENAME={node}".encode() if node else one.startswith(b"SLURMD_NODENAME=") for one in variables
    )
