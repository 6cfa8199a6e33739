"""What is known of each job, by its own marks, by the queue, and by accounting, in this order of trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from headway.clusters.news import JobNews
from headway.clusters.slurm.accounting import Kept
from headway.clusters.slurm.hostlist import expand
from headway.clusters.slurm.marks import CANCELLED, ENDED, STARTED, Asked, JobFolder, Mark
from headway.clusters.slurm.seen_job import SeenJob
from headway.clusters.slurm.states import Evidence, ending_of, phase_of
from headway.model.job import JobPhase
from headway.model.outcome import Ending

_ORDER = {JobPhase.UNKNOWN: 0, JobPhase.PENDING: 1, JobPhase.RUNNING: 2, JobPhase.ENDED: 3}


def claimed_by(folder: JobFolder) -> int | None:
    """The number of the job that holds the folder, if one does."""
    claimant = folder.claimant()
    return int(claimant) if claimant is not None and claimant.isdecimal() else None


def ours(folder: JobFolder, asked: Asked, jobs: Sequence[SeenJob]) -> SeenJob | None:
    """Which of the jobs of a name is the one: who claimed the folder, who was told to us, the first.

    Of one job that is listed twice the word that ends least counts: what was too early is put right by the next look.
    """
    ranked = sorted(jobs, key=lambda job: (job.job_id, _ORDER[phase_of(job.state)]))
    for wanted in (claimed_by(folder), asked.job_id):
        found = next((job for job in ranked if job.job_id == wanted), None)
        if found is not None:
            return found
        if wanted is not None:
            return None
    return ranked[0] if ranked else None


def strays(asked: Asked, jobs: Iterable[SeenJob]) -> set[int]:
    """The live jobs of a tag's name that are not the one: twins that came late, or all if it was cancelled."""
    live = {job.job_id for job in jobs if phase_of(job.state) in (JobPhase.PENDING, JobPhase.RUNNING)}
    return live - ({asked.job_id} if not asked.cancelled else set())


class Tracker:
    """Keeps what was once known: a job that ran does not wait, and one that ended does not come back, unless Slurm
    counts another restart."""

    def __init__(self, *, kills_for_memory: bool = False) -> None:
        self.kills_for_memory = kills_for_memory
        self._known: dict[str, JobNews] = {}
        self._missing_since: dict[str, float] = {}

    def known(self, tag: str) -> JobNews | None:
        """What was last known of a job."""
        return self._known.get(tag)

    def keep(self, tag: str, news: JobNews) -> JobNews:
        """Take note, and say what is known now."""
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
        """For how long a job was in none of the looks, the last of which was at `at`."""
        return at - self._missing_since.setdefault(tag, at)

    def seen_again(self, tag: str) -> None:
        """It is there."""
        self._missing_since.pop(tag, None)

    def by_queue(self, folder: JobFolder, asked: Asked, job: SeenJob) -> JobNews:
        """What the queue says of a job, and what its marks say against it."""
        phase = phase_of(job.state)
        ended = phase is JobPhase.ENDED
        ending, message = self._ending(folder, asked, job.state, job.reason, job) if ended else (None, "")
        if ending is Ending.SUCCESS and asked.cancelled and is_closed(folder):  # it found that it was not wanted
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

    def by_accounts(self, folder: JobFolder, asked: Asked, kept: Kept) -> JobNews:
        """What accounting says of a job that the queue does not show; that it still runs may be old news."""
        if phase_of(kept.state) is not JobPhase.ENDED:
            return self.by_marks(folder, JobNews(JobPhase.UNKNOWN, kept.job_id, message="the queue does not show it"))
        ending, message = self._ending(folder, asked, kept.state, kept.reason, kept)
        news = JobNews(
            JobPhase.ENDED, kept.job_id, kept.started_at, kept.nodes, kept.ended_at, ending, message,
            submitted_at=kept.submitted_at,
        )  # fmt: skip
        return self.by_marks(folder, news)

    def _ending(
        self, folder: JobFolder, asked: Asked, state: str, reason: str, job: SeenJob | Kept
    ) -> tuple[Ending, str]:
        return ending_of(
            Evidence(
                state,
                reason,
                job.exit,
                job.derived_exit,
                asked.cancelled,
                job.cancelled_by if isinstance(job, Kept) else "",
                self.kills_for_memory,
                folder.log_tells_of_memory(job.job_id),
            )
        )

    @staticmethod
    def by_marks(folder: JobFolder, news: JobNews) -> JobNews:
        """The news, put right by the marks of the job itself, unless they are of an earlier round or another job."""
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
    """How a job ended by its own word, the exit status of what ran on its nodes."""
    if words == "0":
        return Ending.SUCCESS, ""
    return Ending.EXIT_CODE, f"what ran on its nodes ended with exit code {words}"


def is_closed(folder: JobFolder) -> bool:
    """Whether no job of this folder ever worked, nor will."""
    return folder.claimant() == CANCELLED
