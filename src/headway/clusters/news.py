"""`JobNews`: what is known of a job."""

from __future__ import annotations

from msgspec import Struct

from headway.model.job import JobPhase
from headway.model.outcome import Ending


class JobNews(Struct, frozen=True, omit_defaults=True):
    """A job's phase, when and where it started, and how it ended. Times are seconds since the epoch."""

    phase: JobPhase
    job_id: int | None = None
    started_at: float | None = None
    nodes: tuple[str, ...] = ()  # as the batch system names them
    ended_at: float | None = None
    ending: Ending | None = None  # None: it has not ended, or the reason is not known
    message: str = ""  # one sentence for users
    restarts: int = 0  # how often the batch system has restarted it
    planned_at: float | None = None  # when the batch system itself plans to start it
    submitted_at: float | None = None
