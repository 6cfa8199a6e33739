"""Jobs that wait or run, each in one line."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import QueueUnread
from headway.model.units import format_duration
from headway.report.run.summary import QueuedJob
from headway.report.words import clock, count, harmless, moment

_DAY_S = 86400.0


def job_lines(jobs: Sequence[QueuedJob], now: float) -> list[str]:
    """A line for each job: its id, whether it waits or runs and for how long, what it asks for, and why it waits."""
    width = max((len(job.name) for job in jobs), default=0)
    return [f"{job.name:>{width}}  {_state(job, now)}  {job.shape}{_outlook(job, now)}" for job in jobs]


def _state(job: QueuedJob, now: float) -> str:
    if job.started_at is not None and job.seen is not None and job.seen.suspended:
        return f"suspended, runs {format_duration(max(0.0, now - job.started_at)):>8}"
    if job.started_at is not None:
        return f"runs  {format_duration(max(0.0, now - job.started_at)):>8}"
    return f"{'HELD' if job.seen and job.seen.held else 'waits'} {format_duration(max(0.0, now - job.submit.at)):>8}"


def _outlook(job: QueuedJob, now: float) -> str:
    if job.started_at is not None:
        return f"; gave back {count(job.given, 'node')}" if job.given else ""
    said = [harmless(job.seen.message)] if job.seen and job.seen.message else []
    return "".join(f"; {words}" for words in [*said, *outlook(job.expected_at, now)])


def outlook(expected_at: float | None, now: float) -> list[str]:
    """Say when a job is expected to start, if that is known and in the future."""
    if expected_at is None or expected_at <= now:
        return []
    shown = moment if expected_at - now > _DAY_S else clock
    return [f"expected to start {shown(expected_at)}"]


def without_nodes(unread: QueueUnread) -> tuple[str, str]:
    """Which tasks no job can be planned for now, and why."""
    tasks = f"tasks that ask for {unread.wish}" if unread.wish else "tasks"
    return harmless(tasks), harmless(f"{unread.message}; the run goes on when that changes")
