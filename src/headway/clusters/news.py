"""What is known of a job."""

from __future__ import annotations

from msgspec import Struct

from headway.model.job import JobPhase
from headway.model.outcome import Ending


class JobNews(Struct, frozen=True, omit_defaults=True):
    """Where a job is, when and where it started, and how it ended. Times are seconds since the epoch."""

    phase: JobPhase
    job_id: int | None = None
    started_at: float | None = None
    nodes: tuple[str, ...] = ()  # by the batch system's names for them
    ended_at: float | None = None
    ending: Ending | None = None  # None: it lives, or nobody knows why it ended
    message: str = ""  # one sentence for people
    restarts: int = 0  # how often the batch system has started it again
    planned_at: float | None = None  # when the batch system itself plans to start it
    submitted_at: float | None = None
