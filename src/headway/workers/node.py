"""What a job runs on each of its nodes: the node's supervisor, and whatever carries its line to the manager.

`python -m headway.workers.node JOB-FOLDER KIND UMASK`; the run's order lies beside the folder, in `jobs/order.json`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from msgspec import structs

from headway.workers.protocol import SupervisorSettings
from headway.workers.spanning import cancel_steps
from headway.workers.trees import kill_strays

NODES = "nodes"  # in a job's folder: a folder for each of its nodes
OVER = "over"  # in a node's folder: its supervisor is gone, and so is all that it ran
RELAYS = {"files": "headway.workers.file_relay", "dask": "headway.workers.pool.relay"}
_GLANCE_S = 0.2
_END_WITHIN_S = 5.0
_AGAIN_AFTER_S = 2.0  # a relay that ends is started again, but not at once


def node_folder(job: Path, node: str) -> Path:
    """Where a node's supervisor lives."""
    return job / NODES / node


def node_command(job: Path, kind: str) -> list[str]:
    """What a job runs on each of its nodes. Jobs have a umask of their own; tasks are to have the user's."""
    # -P: a file here that is called like a module of ours or Python's must not be taken for it
    return [sys.executable, "-P", "-m", "headway.workers.node", str(job), kind, f"{_umask():03o}"]


def _umask() -> int:
    """This process's. The system call that tells it also changes it, for all threads."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("\nUmask:")[2].split(maxsplit=1)[0], 8)


def node_name() -> str:
    """As the batch system calls this node: several may be on one host."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def main() -> None:
    """Entry point: ends when the supervisor has ended."""
    job, kind, umask = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3], 8)
    os.umask(0o077)
    folder = node_folder(job, node_name())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    order = SupervisorSettings.read(job.parent)
    # What runs here is told from what the run has on another node of this host, or here in another job.
    uid = f"{order.uid}/{folder.name}#{job.name.rpartition('-')[2]}"
    structs.replace(order, uid=uid, tag=job.name, node=folder.name).write(folder)
    supervisor = _start("headway.workers.supervisor", folder, umask)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # The batch system tells everybody that time is up: the supervisor sees to its tasks, and is waited for.
        signal.signal(number, lambda *_: supervisor.terminate())
    relay, again_at = _start(RELAYS[kind], folder), 0.0
    try:
        while supervisor.poll() is None:
            if relay.poll() is not None and time.monotonic() > again_at:
                relay, again_at = _start(RELAYS[kind], folder), time.monotonic() + _AGAIN_AFTER_S
            time.sleep(_GLANCE_S)
    finally:
        kill_strays(f"{uid}/")  # of a supervisor that was killed
        if supervisor.returncode:
            cancel_steps(uid)
        (folder / OVER).touch(0o600)
        _end(relay)


def _start(module: str, folder: Path, umask: int = -1) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", "-m", module, str(folder)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, umask=umask)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
