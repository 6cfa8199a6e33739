"""What a job runs on each of its nodes: the node's supervisor, and the relay that connects it to the manager.

`python -m headway.workers.node JOB-FOLDER KIND UMASK`. The settings for all supervisors of the run are in the folder
above, in `jobs/order.json`.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from headway.log_setup import set_up_logging
from headway.workers.protocol import SupervisorSettings
from headway.workers.spanning import STEPS, cancel_steps
from headway.workers.trees import kill_strays

NODES = "nodes"  # in a job's folder: a folder for each of its nodes
OVER = "over"  # in a node's folder: the supervisor and all processes that it started have ended
RELAYS = {"files": "headway.workers.file_relay", "dask": "headway.workers.pool.relay"}
_POLL_S = 0.2
_END_WITHIN_S = 5.0
_RESTART_AFTER_S = 2.0  # the shortest time between two restarts of the relay

_log = logging.getLogger("headway.workers.node")  # this module runs as __main__


def node_folder(job: Path, node: str) -> Path:
    """Return the folder of a node's supervisor."""
    return job / NODES / node


def node_command(job: Path, kind: str) -> list[str]:
    """Return the command that a job runs on each of its nodes. It passes on the user's umask, which tasks get."""
    # -P: modules are not imported from the current directory
    return [sys.executable, "-P", "-m", "headway.workers.node", str(job), kind, f"{_umask():03o}"]


def start_apart(module: str, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a module that outlives this process: neither Ctrl-C nor the end of the terminal ends it."""
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab") as file:
        # -P: modules are not imported from the current directory
        command = [sys.executable, "-P", "-m", module, *words]
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
    # Wait for its end in a thread: otherwise a program that runs for long collects zombies.
    threading.Thread(target=started.wait, name=module, daemon=True).start()
    return started


def _umask() -> int:
    """Return this process's umask. The system call that returns it also changes it, for all threads."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("\nUmask:")[2].split(maxsplit=1)[0], 8)


def main() -> None:
    """Run the supervisor and its relay; return when the supervisor has ended."""
    job, kind, umask = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3], 8)
    set_up_logging()
    os.umask(0o077)
    # Several nodes of a test cluster can share one host, so the batch system's name comes first.
    folder = node_folder(job, os.environ.get("SLURMD_NODENAME") or socket.gethostname())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = SupervisorSettings.read(job.parent)
    # Processes are found by this uid. It differs between the jobs of a run on this host, and between its nodes here.
    uid = f"{settings.uid}/{folder.name}#{job.name.rpartition('-')[2]}"
    structs.replace(settings, uid=uid, tag=job.name, node=folder.name).write(folder)
    supervisor = _start("headway.workers.supervisor", folder, umask)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # At the end of the walltime every process of the job gets a signal. The supervisor stops its tasks first.
        signal.signal(number, lambda *_: supervisor.terminate())
    relay, restart_at = _start(RELAYS[kind], folder), 0.0
    try:
        while supervisor.poll() is None:
            if relay.poll() is not None and time.monotonic() > restart_at:
                level = logging.WARNING if relay.returncode else logging.INFO
                _log.log(level, "the relay of %s ended with code %s: restarting it", folder.name, relay.returncode)
                relay, restart_at = _start(RELAYS[kind], folder), time.monotonic() + _RESTART_AFTER_S
            time.sleep(_POLL_S)
    finally:
        _log.info("the supervisor of %s ended with code %s", folder.name, supervisor.returncode)
        kill_strays(f"{uid}/")  # in case the supervisor was killed
        if supervisor.returncode and (folder / STEPS).exists():  # or all nodes of a cancelled job would ask Slurm
            cancel_steps(uid)
        (folder / OVER).touch(0o600)
        relay.terminate()
        try:
            relay.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            relay.kill()
            relay.wait()


def _start(module: str, folder: Path, umask: int = -1) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", "-m", module, str(folder)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, umask=umask)


if __name__ == "__main__":
    main()
