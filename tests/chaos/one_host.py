"""`python -m tests.chaos.one_host run …`: Headway with jobs on this machine that are reached through a relay.

Its messages are files; with `RELAY=dask` in the environment they go over Dask. What a job of a batch system runs on its
node runs here: a supervisor and the relay that connects it to the manager.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from unittest import mock

from headway import locks
from headway.cli.main import main
from headway.clusters.local import LocalMachine, RunJobs
from headway.drivers import runs
from headway.drivers.run_settings import RunSettings
from headway.drivers.targets import Target
from headway.journal.folder import RunFolder
from headway.model.job import JobPhase, JobRequest
from headway.model.records import RunStarted
from headway.workers.connection import Connections
from headway.workers.file_connection import FileConnections
from headway.workers.node import node_command, node_folder
from headway.workers.protocol import LOCK

KIND = os.environ.get("RELAY", "files")


class OneHost(LocalMachine):
    """A job is a process that starts a supervisor and its relay."""

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        folder = self._jobs.folder / tag
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = os.environ | {"SLURMD_NODENAME": socket.gethostname()}
        with (folder / "log").open("ab") as log:
            words = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True}
            self._started[tag] = subprocess.Popen(node_command(folder, KIND), env=environment, **words)  # type: ignore[call-overload]

    def _supervisor(self, tag: str) -> int | None:
        words = locks.holder(node_folder(self._jobs.folder / tag, socket.gethostname()) / LOCK)
        return int(words) if words and words.isdecimal() else None

    def _phase(self, tag: str) -> JobPhase:
        """A job that was never seen to end runs: the manager of these tests does not die."""
        ended = self._started[tag].poll() is not None
        return JobPhase.ENDED if ended else JobPhase.RUNNING if self._supervisor(tag) else JobPhase.PENDING


def target(settings: RunStarted, folder: RunFolder, options: RunSettings, **_: object) -> Target:
    """The target of every run here."""
    told = (options.linger_s, options.grace_s, options.measure)
    jobs = RunJobs(settings.uid, str(folder.directory), folder.jobs, *told)
    return Target(OneHost(jobs), _connections(folder, options), jobs)


def _connections(folder: RunFolder, options: RunSettings) -> Connections:
    if KIND == "files":
        return FileConnections(folder.jobs)
    from headway.workers.pool.connections import DaskConnections

    return DaskConnections(folder.jobs, folder.path / "pool", "127.0.0.1", options.linger_s)


def supervisors(directory: Path) -> list[int]:
    """The process ids of live supervisors of runs in this directory."""
    found = [locks.holder(path) for path in directory.glob(".headway/runs/*/jobs/*/nodes/*/lock")]
    return [int(words) for words in found if words]


if __name__ == "__main__":
    with mock.patch.object(runs, "target_of", target):
        main()
