"""The jobs in which the managers of a run live, one after the other. Each has a folder, `managers/TAG` in the run's.

They are submitted, found again by their tags and cancelled like the jobs in which tasks run: the request is durable
before it is sent, and the first job that claims its folder is the only one that works.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct, structs

from headway.clusters.slurm.job_folder import ENDED, STARTED, JobFolder
from headway.drivers.run_settings import RunSettings
from headway.journal.folder import RunFolder
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.records import RunStarted
from headway.model.resources import Resources
from headway.model.units import format_duration
from headway.workers.whole_file import write_whole

if TYPE_CHECKING:
    from headway.clusters.slurm.cluster import SlurmCluster
    from headway.clusters.slurm.options import SlurmOptions

USUAL_TIME_S = 86400.0
LEAST_TIME_S = 180.0  # Slurm counts in minutes, and a manager needs some time to hand over
_MEMORY_BYTES = 10**9
_MEMORY_OF_A_TASK_BYTES = 10_000
_SETTINGS = "settings.json"
_READY = "ready"  # files in a manager's folder: it has started,
_AT_WORK = "at-work"  # and no earlier manager can act any more
_LEFT = "0"  # the exit code of a manager that has left the run, or has seen its end
_LOOK_EVERY_S = 1.0
_ANSWER_WITHIN_S = 60.0  # for Slurm to take the first job
_OF_GPUS = ("--gres=", "--gpus-per-node=", "--gpu-bind=", "--gpu-freq=")


class ManagerJob(Struct, frozen=True):
    """A job for a manager, as its folder shows it. One that was killed may still seem to run."""

    number: int
    tag: str
    state: Literal["waits", "runs", "over"]
    job_id: int | None = None
    node: str = ""
    until: float | None = None
    trouble: str = ""  # why it is not in the queue

    def __str__(self) -> str:
        return f"job {self.job_id or self.tag}"

    def sentence(self, *, ended: bool = False) -> str:
        """Say where the manager is; `ended` of one whose job is known to be over, whatever its folder shows."""
        if ended:
            return f"{self} has ended, and no other job for a manager is in the queue"
        if self.state == "waits":
            return f"{self} waits in the queue{f' ({self.trouble})' if self.trouble else ''}"
        until = f" until {time.strftime('%Y-%m-%d %H:%M', time.localtime(self.until))}" if self.until else ""
        return f"{self} on {self.node}{until}"


def manager_jobs(folder: RunFolder) -> list[ManagerJob]:
    """Return all jobs that managers of a run had, have or wait for, oldest first.

    All jobs before one whose manager has taken over are over, also one that was killed and left no mark.
    """
    try:
        tags = [entry.name for entry in folder.managers.iterdir() if entry.is_dir()]
    except FileNotFoundError:
        return []
    numbered = sorted((int(tag.rpartition("-")[2]), tag) for tag in tags)
    last = max((number for number, tag in numbered if (folder.managers / tag / _AT_WORK).exists()), default=0)
    jobs = [_as_shown(JobFolder(folder.managers, tag), number, tag) for number, tag in numbered]
    return [structs.replace(job, state="over") if job.number < last else job for job in jobs]


def _as_shown(folder: JobFolder, number: int, tag: str) -> ManagerJob:
    asked, started = folder.asked(), folder.last_mark(STARTED)
    if asked is None:  # its maker died before the request was whole: nothing was sent
        return ManagerJob(number, tag, "over")
    job_id = folder.claimed_by() or asked.job_id
    if folder.is_closed() or asked.refused:
        return ManagerJob(number, tag, "over", job_id, trouble=asked.refused)
    if started is None:
        return ManagerJob(number, tag, "waits", job_id, trouble=asked.why_waiting)
    node = started.words.partition(" ")[2]
    until = started.at + 60.0 * math.ceil((asked.per_node.walltime_s or 0.0) / 60.0)
    state: Literal["runs", "over"] = "over" if folder.last_mark(ENDED) is not None else "runs"
    return ManagerJob(number, tag, state, job_id, node, until)


def live_manager_jobs(folder: RunFolder, started: RunStarted) -> list[ManagerJob]:
    """Return the jobs in which a manager of a run lives or will live, by their folders and one look at the queue.

    Without an answer from Slurm, what the folders show counts.
    """
    shown = [job for job in manager_jobs(folder) if job.state != "over"]
    if not shown:
        return []
    from headway.clusters.slurm.commands import Commands
    from headway.clusters.slurm.squeue import own_jobs

    look = own_jobs(Commands(clusters=started.batch.get("clusters")), os.getuid())
    if look is None:
        return shown
    there = {job.directory for jobs in look.by_name.values() for job in jobs if job.is_live}
    return [job for job in shown if str(folder.managers.resolve() / job.tag) in there]


def manager_request(batch: Mapping[str, str], settings: RunSettings, directory: Path, tasks: int) -> JobRequest:
    """Return the request for a manager's job; a SiteError if the site never grants it."""
    from headway.clusters.local import RunJobs
    from headway.clusters.slurm.cluster import SlurmCluster
    from headway.clusters.slurm.options import MANAGERS

    cluster = SlurmCluster(RunJobs("", str(directory), directory), _options(batch, settings), lambda tag: ())
    longest_s = cluster.limits().walltime_s or math.inf
    if settings.manager_time_s is not None and settings.manager_time_s > longest_s:
        what = f"a manager's job may take {format_duration(longest_s)} at most"
        raise SiteError(what, where="--manager-time", todo="give it less, or another --manager-partition")
    most = cluster.most_jobs()
    if most is not None and most <= MANAGERS:
        what = f"you may have {most} jobs in the queue: a manager in a job, the next one and a job for tasks need 3"
        raise SiteError(what, where="--manager job", todo="leave it out")
    resources = Resources(
        cores=1,
        memory_bytes=_MEMORY_BYTES + _MEMORY_OF_A_TASK_BYTES * tasks,
        walltime_s=settings.manager_time_s or min(USUAL_TIME_S, longest_s),
    )
    return JobRequest(resources, places=1 if cluster.shares else None)


def _options(batch: Mapping[str, str], settings: RunSettings) -> SlurmOptions:
    """The options of the run's jobs, except what is about the nodes for tasks."""
    from headway.clusters.slurm.options import SlurmOptions, options_of

    options = options_of({name: value for name, value in batch.items() if name != "lines"})
    flags = tuple(flag for flag in options.flags if not flag.startswith(_OF_GPUS))
    partition = settings.manager_partition or options.partition
    most_jobs = SlurmOptions().most_jobs  # the run's own limit is about its other jobs
    # A job that Slurm starts again would be a manager of which the next one knows nothing.
    usual = {"requeue": False, "preemptible": None, "nodes": None, "most_jobs": most_jobs}
    return structs.replace(options, partition=partition, flags=flags, **usual)


class ManagerJobs:
    """Submits, follows and cancels the jobs for a run's managers."""

    def __init__(self, folder: RunFolder, started: RunStarted, settings: RunSettings) -> None:
        self._folder = folder
        self._started = started
        self._settings = settings

    @cached_property
    def _cluster(self) -> SlurmCluster:
        from headway.clusters.local import RunJobs
        from headway.clusters.slurm.cluster import SlurmCluster

        jobs = RunJobs(self._started.uid, str(self._folder.directory), self._folder.managers)
        return SlurmCluster(jobs, _options(self._started.batch, self._settings), self._command)

    def _command(self, tag: str) -> Sequence[str]:
        # -P: a file here that is called like a module of ours or Python's must not be taken for it
        return [sys.executable, "-P", "-m", "headway.api.manager_in_job", str(self._folder.path.resolve()), tag]

    # --- for the user's command ---

    def submit_first(self, request: JobRequest) -> ManagerJob:
        """Submit a job for a manager, and return when Slurm has it; a SiteError if Slurm does not take it."""
        self._folder.managers.mkdir(mode=0o700, exist_ok=True)
        write_whole(self._folder.managers / _SETTINGS, msgspec.json.encode(self._settings), durable=True)
        job = self.submit(request)
        deadline = time.monotonic() + _ANSWER_WITHIN_S
        while job.job_id is None:
            if time.monotonic() > deadline:
                self._cluster.cancel([job.tag])
                raise SiteError(f"Slurm does not take the manager's job: {job.trouble or 'it does not answer'}")
            time.sleep(_LOOK_EVERY_S)
            job = self.look(job)
        return job

    def cancel_waiting(self) -> list[ManagerJob]:
        """Cancel the jobs that have not started, and return them; none of them will ever work."""
        waiting = [job for job in manager_jobs(self._folder) if job.state == "waits"]
        self._cluster.cancel([job.tag for job in waiting])
        return [job for job in waiting if JobFolder(self._folder.managers, job.tag).is_closed()]

    # --- for managers ---

    def submit(self, request: JobRequest) -> ManagerJob:
        """Submit the next job, or one whose submission was interrupted; Slurm may not have answered yet."""
        last = next(reversed(manager_jobs(self._folder)), None)
        unsure = last is not None and last.state == "waits" and last.job_id is None
        number = last.number + (not unsure) if last is not None else 1
        tag = f"headway-{self._started.uid}-manager-{number}"
        self._cluster.submit(request, tag)
        return _as_shown(JobFolder(self._folder.managers, tag), number, tag)

    def look(self, job: ManagerJob) -> ManagerJob:
        """Return what is known of a job now; one that has ended without a manager's word is over."""
        folder = JobFolder(self._folder.managers, job.tag)
        ended = self._cluster.poll([job.tag])[job.tag] is JobPhase.ENDED
        shown = _as_shown(folder, job.number, job.tag)
        return structs.replace(shown, state="over") if ended else shown

    def own(self, tag: str) -> ManagerJob:
        """Return the job with that tag."""
        return next(job for job in manager_jobs(self._folder) if job.tag == tag)

    def request_of(self, job: ManagerJob) -> JobRequest:
        """Return the request that a job was submitted with: the next one is the same."""
        asked = JobFolder(self._folder.managers, job.tag).asked()
        if asked is None:
            raise SiteError("the request for the manager's job cannot be read", where=str(self._folder.managers))
        return JobRequest(asked.per_node, places=1 if asked.shared else None)

    def say_ready(self, job: ManagerJob) -> None:
        """Let the manager at work know that the next one has started."""
        write_whole(self._folder.managers / job.tag / _READY, b"")

    def is_ready(self, job: ManagerJob) -> bool:
        """Whether the manager of a job has started."""
        return (self._folder.managers / job.tag / _READY).exists()

    def wait_for_turn(self, own: ManagerJob) -> None:
        """Wait until no earlier manager of the run can act any more.

        One that left says so by its exit code, in its job's last mark. Of any other, Slurm must say that its job is
        over. One that has not started never will: its folder is closed.
        """
        for job in reversed(manager_jobs(self._folder)):
            if job.number >= own.number:
                continue
            folder = JobFolder(self._folder.managers, job.tag)
            if folder.asked() is not None:
                folder.close()
                while not folder.is_closed() and not self._is_over(folder, job.tag):
                    self._cluster.ask_now()
                    time.sleep(_LOOK_EVERY_S)
            if (folder.path / _AT_WORK).exists():  # then it has waited for those before
                break
        write_whole(self._folder.managers / own.tag / _AT_WORK, b"")

    def _is_over(self, folder: JobFolder, tag: str) -> bool:
        mark = folder.last_mark(ENDED)
        if mark is not None and mark.words == _LEFT:
            return True
        news = self._cluster.news([tag])[tag]
        return news.phase is JobPhase.ENDED and news.ending is not None


def settings_of_managers(folder: RunFolder) -> RunSettings:
    """Return the settings that the run's managers in jobs were started with."""
    try:
        return msgspec.json.decode((folder.managers / _SETTINGS).read_bytes(), type=RunSettings)
    except (OSError, msgspec.MsgspecError) as error:
        raise SiteError("the settings for managers in jobs cannot be read", where=str(folder.managers)) from error
