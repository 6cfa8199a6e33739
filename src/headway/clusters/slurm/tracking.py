"""What is known of each job: from its own marks, the queue and accounting, trusted in this order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from headway.clusters.news import JobNews
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.marks import CANCELLED, ENDED, STARTED, Asked, JobFolder, Mark
from headway.clusters.slurm.squeue import SeenJob
from headway.clusters.slurm.states import ending_of
from headway.model.job import JobPhase
from headway.model.outcome import Ending

_ORDER = {JobPhase.UNKNOWN: 0, JobPhase.PENDING: 1, JobPhase.RUNNING: 2, JobPhase.ENDED: 3}


def claimed_by(folder: JobFolder) -> int | None:
    """The id of the job that has claimed the folder, if one has."""
    claimant = folder.claimant()
    return int(claimant) if claimant is not None and claimant.isdecimal() else None


def ours(folder: JobFolder, asked: Asked, jobs: Sequence[SeenJob]) -> SeenJob | None:
    """Pick our job among all jobs with this name: the one that claimed the folder, else the id that sbatch returned,
    else the lowest id.

    If a job is listed twice, the less final state wins; the next look corrects it.
    """
    ranked = sorted(jobs, key=lambda job: (job.job_id, _ORDER[job.phase]))
    for wanted in (claimed_by(folder), asked.job_id):
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


class Tracker:
    """Remembers jobs: one that has run does not wait again, and one that has ended does not run again, unless Slurm
    counts another restart."""

    def __init__(self, *, kills_for_memory: bool = False) -> None:
        self.kills_for_memory = kills_for_memory
        self._known: dict[str, JobNews] = {}
        self._missing_since: dict[str, float] = {}

    def known(self, tag: str) -> JobNews | None:
        """What was last known of a job."""
        return self._known.get(tag)

    def keep(self, tag: str, news: JobNews) -> JobNews:
        """Remember news of a job; return what is known now, which may be more."""
        before = self._known.get(tag)
        if before is not None and before.job_id == news.job_id and news.restarts <= before.restarts:
            if _ORDER[news.phase] < _ORDER[before.phase]:
                return before
            news = structs.replace(
                news,
                nodes=news.nodes or before.nodes,
                started_at=news.started_at or before.started_at,
                ended_at=news.ended_at or before.ended_at,
                ending=news.ending or before.ending,
            )
        if news.phase is not JobPhase.UNKNOWN:
            self._known[tag] = news
        return news

    def missing_for_s(self, tag: str, at: float) -> float:
        """Seconds for which no look at the queue has shown a job; the last look was at `at`."""
        return at - self._missing_since.setdefault(tag, at)

    def seen_again(self, tag: str) -> None:
        """Note that the queue shows a job."""
        self._missing_since.pop(tag, None)

    def by_queue(self, folder: JobFolder, asked: Asked, job: SeenJob) -> JobNews:
        """What the queue says of a job, corrected by the job's marks."""
        phase = job.phase
        ended = phase is JobPhase.ENDED
        ending, message = self._ending(folder, asked, job) if ended else (None, "")
        if ending is Ending.SUCCESS and asked.cancelled and is_closed(folder):  # closed before it started
            ending, message = Ending.CANCELLED, "it was cancelled by Headway"
        if phase is JobPhase.PENDING and job.reason not in ("", "None"):
            message = f"it waits: {job.reason}"
        waits = phase is JobPhase.PENDING
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
        )
        return self.by_marks(folder, news)

    def by_accounts(self, folder: JobFolder, asked: Asked, job: SeenJob) -> JobNews:
        """What accounting says of a job that the queue does not show. If it says "running", that may be out of date."""
        if job.phase is not JobPhase.ENDED:
            return self.by_marks(folder, JobNews(JobPhase.UNKNOWN, job.job_id, message="the queue does not show it"))
        ending, message = self._ending(folder, asked, job)
        news = JobNews(
            JobPhase.ENDED, job.job_id, job.started_at, job.node_names, job.ended_at, ending, message,
            submitted_at=job.submitted_at,
        )  # fmt: skip
        return self.by_marks(folder, news)

    def _ending(self, folder: JobFolder, asked: Asked, job: SeenJob) -> tuple[Ending, str]:
        return ending_of(
            job,
            cancelled_by_us=asked.cancelled,
            kills_for_memory=self.kills_for_memory,
            log_tells_of_memory=folder.log_tells_of_memory(job.job_id),
        )

    @staticmethod
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
            ending, message = _by_status(ended.words)
            if news.phase is not JobPhase.UNKNOWN and ending is not Ending.SUCCESS:
                ending = None  # the queue is about to say why
            return structs.replace(news, phase=JobPhase.ENDED, ended_at=ended.at, ending=ending, message=message)
        if news.phase is JobPhase.PENDING:
            return structs.replace(news, phase=JobPhase.RUNNING, message="")
        return news


def _nodes_of(started: Mark) -> tuple[str, ...]:
    try:
        return expand(started.words)
    except ValueError:
        return ()


def _by_status(words: str) -> tuple[Ending | None, str]:
    """How a job ended, from the exit status in its own mark."""
    if words == "0":
        return Ending.SUCCESS, ""
    return Ending.EXIT_CODE, f"what ran on its nodes ended with exit code {words}"


def is_closed(folder: JobFolder) -> bool:
    """Whether no job of this folder has ever worked or ever will."""
    return folder.claimant() == CANCELLED
