"""The machine that Headway runs on, as a cluster that grants its one allocation at once."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from headway import locks
from headway.clusters.base import Cluster, JobNews
from headway.clusters.machine import machine, part_of
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.resources import Resources
from headway.workers.gpus import Found, find_devices
from headway.workers.node import start_apart
from headway.workers.protocol import LOCK, STARTED, SupervisorSettings
from headway.workers.trees import kill_strays

_PATIENCE_S = 10.0  # for a supervisor to end, beyond its tasks' time of grace


class RunJobs(Struct, frozen=True):
    """Where a run's jobs have their folders, and what their supervisors have to know."""

    uid: str
    workflow_directory: str
    folder: Path
    linger_s: float = 120.0
    grace_s: float = 5.0
    method: str = "auto"

    def order(self, tag: str) -> SupervisorSettings:
        """The settings for the supervisor of a job."""
        told = (self.linger_s, self.grace_s, self.method)
        return SupervisorSettings(self.uid, tag, socket.gethostname(), self.workflow_directory, *told)


class LocalMachine(Cluster):
    """A job is a node supervisor process with a folder of its own: `jobs/TAG`.

    The supervisor holds the folder's lock while it lives, so the lock tells whether it lives, whatever happened to the
    process that started it. `stated` is the part of the machine that may be used; with `lenient` a machine that has
    less than that is used as it is.
    """

    name = "local"
    lends = True

    def __init__(self, jobs: RunJobs, stated: Mapping[str, float] | None = None, *, lenient: bool = False) -> None:
        self._jobs = jobs
        self._stated = stated or {}
        self._lenient = lenient
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._gpus: Found | None = None

    def limits(self) -> Resources:
        part = part_of(machine(Path(self._jobs.workflow_directory)), self._stated, lenient=self._lenient)
        return part.replace(gpus=len(self._found().devices))

    def remarks(self) -> list[str]:
        return [trouble] if (trouble := self._found().trouble) else []

    def _found(self) -> Found:
        if self._gpus is None:
            self._gpus = find_devices()
        return self._gpus

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        folder = self._jobs.folder / tag
        kill_strays(f"{self._jobs.uid}/")  # an earlier supervisor may have died and left its tasks running
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._jobs.order(tag).write(folder)
            self._started[tag] = start_apart("headway.workers.supervisor", [str(folder)], folder / "log")
        except OSError as error:
            raise SiteError(f"cannot start the node supervisor: {error.strerror}", where=str(folder)) from error

    def find(self, tags: Iterable[str]) -> set[str]:
        return {tag for tag in tags if self._supervisor(tag) is not None}

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return {tag: self._phase(tag) for tag in tags}

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        here = (socket.gethostname(),)
        return {tag: JobNews(phase, nodes=here) for tag, phase in self.poll(tags).items()}

    def _phase(self, tag: str) -> JobPhase:
        if self._supervisor(tag) is not None:
            return JobPhase.RUNNING
        folder = self._jobs.folder / tag
        if not folder.exists():
            return JobPhase.UNKNOWN
        ours = self._started.get(tag)
        has_ended = (ours is not None and ours.poll() is not None) or (folder / STARTED).exists()
        return JobPhase.ENDED if has_ended else JobPhase.PENDING

    def cancel(self, tags: Iterable[str]) -> None:
        for tag in tags:
            folder = self._jobs.folder / tag
            if folder.exists():  # a supervisor that is about to start sees that its job is over
                (folder / STARTED).touch(mode=0o600)
            deadline = time.monotonic() + self._jobs.grace_s + _PATIENCE_S
            number = signal.SIGTERM
            while (pid := self._supervisor(tag)) is not None:  # it stops its tasks first, which takes time
                if time.monotonic() > deadline:
                    number = signal.SIGKILL
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
                    os.kill(pid, signal.SIGCONT)  # it may have been stopped by a signal
                time.sleep(0.05)
        if not live_supervisors(self._jobs.folder):  # or they would be tasks of another job of this run
            kill_strays(f"{self._jobs.uid}/")

    def _supervisor(self, tag: str) -> int | None:
        """The process id of a job's supervisor, if it lives."""
        return _holder(self._jobs.folder / tag)


def live_supervisors(jobs: Path) -> list[int]:
    """The process ids of the supervisors on this machine that have their folders there."""
    found = map(_holder, sorted(jobs.glob("*/")))
    return [pid for pid in found if pid is not None]


def _holder(folder: Path) -> int | None:
    words = locks.holder(folder / LOCK)
    return int(words) if words and words.isdecimal() else None
