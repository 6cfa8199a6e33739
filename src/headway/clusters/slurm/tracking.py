"""What is known of each job: from its own marks, the queue and accounting, trusted in this order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import structs

from headway.clusters.base import JobNews
from headway.clusters.slurm.endings import ending_of
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.job_folder import ENDED, STARTED, Asked, JobFolder, Mark
from headway.clusters.slurm.reasons import is_held, words_of
from headway.clusters.slurm.squeue import SeenJob
from headway.model.job import JobPhase
from headway.model.outcome import Ending
from headway.model.units import format_duration

_SUSPENDED = ("SUSPENDED", "STOPPED")
_ROUNDING_S = 5.0
_ORDER = {JobPhase.UNKNOWN: 0, JobPhase.PENDING: 1, JobPhase.RUNNING: 2, JobPhase.ENDED: 3}


def ours(folder: JobFolder, asked: Asked, jobs: Sequence[SeenJob]) -> SeenJob | None:
    """Pick our job among all jobs with this name: the one that claimed the folder, else the id that sbatch returned,
    else the lowest id.

    If a job is listed twice, the less final state wins; the next look corrects it.
    """
    ranked = sorted(jobs, key=lambda job: (job.job_id, _ORDER[job.phase]))
    for wanted in (folder.claimed_by(), asked.job_id):
        found = next((job for job in ranked if job.job_id == wanted), None)
        if found is not None:
            return found
        if wanted is not None:
            return None
    return ranked[0] if ranked else None


def duplicates(asked: Asked, jobs: Iterable[SeenJob]) -> set[int]:
    """The ids of live jobs with a tag's name that should not exist: duplicates, or all if the tag was cancelled."""
    live = {job.job_id for job in jobs if job.is_live}
    return live - ({asked.job_id} if not asked.cancelled else set())


def keep(before: JobNews | None, news: JobNews) -> JobNews:
    """Add news of a job to what was known before.

    A job that has run does not wait again, and one that has ended does not run again, unless Slurm counts another
    restart.
    """
    if before is None or before.job_id != news.job_id or news.restarts > before.restarts:
        return news
    if _ORDER[news.phase] < _ORDER[before.phase]:
        return before
    return structs.replace(
        news,
        nodes=news.nodes or before.nodes,
        started_at=news.started_at or before.started_at,
        ended_at=news.ended_at or before.ended_at,
        ending=news.ending or before.ending,
        # Only a running job has been resumed, and shows when it ends: not one that is being ended.
        walltime_s=news.walltime_s if news.confirmed_at is not None else before.walltime_s,
        suspended=news.suspended or (before.suspended and news.confirmed_at is None),
    )


def by_slurm(folder: JobFolder, asked: Asked, job: SeenJob, *, kills_for_memory: bool) -> JobNews:
    """What the queue or accounting says of a job, corrected by the job's marks."""
    phase = JobPhase.PENDING if _is_being_requeued(folder, job) else job.phase
    ended, waits = phase is JobPhase.ENDED, phase is JobPhase.PENDING
    ending, message, cut = None, "", False
    if ended:
        ending, message = ending_of(
            job,
            cancelled_by_us=asked.cancelled,
            kills_for_memory=kills_for_memory,
            log_tells_of_memory=folder.log_tells_of_memory(job.job_id),
        )
        if cut := ending is Ending.TIME and was_cut(asked, job):
            message = f"its time was up: it had been cut to {format_duration(job.limit_s or 0.0)} while it ran"
        if ending is Ending.SUCCESS and asked.cancelled and folder.is_closed():  # closed before it started
            ending, message = Ending.CANCELLED, "it was cancelled by Headway"
    elif waits:
        message = words_of(job.reason)
    news = JobNews(
        phase,
        job.job_id,
        started_at=None if waits or not job.node_names else job.started_at,
        nodes=job.node_names,
        ended_at=job.ended_at if ended else None,
        ending=ending,
        message=message,
        restarts=job.restarts,
        planned_at=job.started_at if waits else None,
        submitted_at=job.submitted_at,
        held=waits and is_held(job.reason),
        cut=cut,
        walltime_s=changed_walltime_s(asked, job),
        suspended=job.state in _SUSPENDED,
    )
    return by_marks(folder, news)


def _is_being_requeued(folder: JobFolder, job: SeenJob) -> bool:
    """Whether Slurm is putting a job back into the queue: it counts the next round already, which has not started."""
    started = folder.last_mark(STARTED)
    return job.state == "COMPLETING" and started is not None and started.restarts < job.restarts


def changed_walltime_s(asked: Asked, job: SeenJob) -> float | None:
    """The time from a running job's start to its end if that is not what it asked for; None if it is.

    An administrator may change the limit, and the time in which a job is suspended does not count.
    """
    walltime_s = asked.per_node.walltime_s
    if job.state != "RUNNING" or walltime_s is None or job.started_at is None or job.ended_at is None:
        return None
    length_s = job.ended_at - job.started_at
    rounded_s = 60.0 * math.ceil(walltime_s / 60.0)  # as it was asked for
    return length_s if abs(length_s - rounded_s) > _ROUNDING_S else None


def was_cut(asked: Asked, job: SeenJob) -> bool:
    """Whether a job has less time than it asked for, which only an administrator or its user can have done."""
    walltime_s = asked.per_node.walltime_s
    return walltime_s is not None and job.limit_s is not None and job.limit_s + 60.0 <= walltime_s


def by_marks(folder: JobFolder, news: JobNews) -> JobNews:
    """The news, corrected by the job's own marks, unless these are of an earlier round or of another job."""
    started, ended = folder.last_mark(STARTED), folder.last_mark(ENDED)
    if started is None or started.restarts < news.restarts or news.job_id not in (None, started.job_id):
        return news
    news = structs.replace(
        news,
        job_id=started.job_id,
        started_at=started.at,
        nodes=news.nodes or _nodes_of(started),  # the queue leaves out a node that died
        restarts=started.restarts,
        planned_at=None,
    )
    if ended is not None and ended.restarts == started.restarts and ended.job_id == started.job_id:
        if news.phase is JobPhase.ENDED:
            return structs.replace(news, ended_at=ended.at)
        is_clean = ended.words == "0"
        message = "" if is_clean else f"what ran on its nodes ended with exit code {ended.words}"
        # Supervisors end well also when Slurm ends their job. If the queue shows the job, it is about to say why.
        own_word = Ending.SUCCESS if is_clean else Ending.EXIT_CODE
        ending = own_word if news.phase is JobPhase.UNKNOWN else None
        return structs.replace(news, phase=JobPhase.ENDED, ended_at=ended.at, ending=ending, message=message)
    if news.phase is JobPhase.PENDING:
        return structs.replace(news, phase=JobPhase.RUNNING, message="")
    return news


def _nodes_of(started: Mark) -> tuple[str, ...]:
    try:
        return expand(started.words.partition(" ")[0])
    except ValueError:
        return ()


def script_node(folder: JobFolder) -> str:
    """The node on which the job's script runs, by its own mark; empty if it has not started."""
    started = folder.last_mark(STARTED)
    if started is None:
        return ""
    return started.words.partition(" ")[2] or next(iter(_nodes_of(started)), "")
