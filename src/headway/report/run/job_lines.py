"""Jobs that wait or run, each in one line."""

from __future__ import annotations

from collections.abc import Sequence

from headway.journal.story.jobs import Job, Jobs
from headway.model.records import QueueUnread
from headway.model.units import format_duration
from headway.report.words import clock, count, harmless, moment, share

_DAY_S = 86400.0


def named(job: Job) -> str:
    """Its id in the batch system; before it has one, our own name for it."""
    return str(job.seen.job_id) if job.seen is not None and job.seen.job_id is not None else job.submit.tag


def shape_of(job: Job) -> str:
    """What a job asks for: `2 nodes with 8 cores, 16 GB memory for 1h 30m`; of a share `3 cores, 6 GB on 1 node`."""
    request = job.submit.request
    asked = request.per_node
    time_s = "" if asked.walltime_s is None else f" for {format_duration(asked.walltime_s)}"
    each = asked.replace(nodes=1, walltime_s=None, disk_bytes=0)
    nodes = count(asked.nodes, "node")
    shape = f"{each} on {nodes}{time_s}" if request.places else f"{nodes} with {each}{time_s}"
    return f"{shape}, {request.wish}" if request.wish else shape


def core_hours_words(jobs: Jobs, now: float) -> str:
    """One sentence about what jobs held until now, and how much of it tasks used; empty if no job has run."""
    held = jobs.held_core_hours(now)
    if not held:
        return ""
    charged = jobs.billing_hours(now)
    price = "" if charged is None else f"; they are charged about {charged:.3g} billing-hours"
    return (
        f"jobs held {held:.3g} core-hours; tasks ran in {share(min(1.0, jobs.used_core_hours / held))} of them{price}"
    )


def job_lines(jobs: Sequence[Job], now: float) -> list[str]:
    """A line for each job: its id, whether it waits or runs and for how long, what it asks for, and why it waits."""
    width = max((len(named(job)) for job in jobs), default=0)
    return [f"{named(job):>{width}}  {_state(job, now)}  {shape_of(job)}{_outlook(job, now)}" for job in jobs]


def _state(job: Job, now: float) -> str:
    if job.started_at is not None and job.seen is not None and job.seen.suspended:
        return f"suspended, runs {format_duration(max(0.0, now - job.started_at)):>8}"
    if job.started_at is not None:
        return f"runs  {format_duration(max(0.0, now - job.started_at)):>8}"
    return f"{'HELD' if job.seen and job.seen.held else 'waits'} {format_duration(max(0.0, now - job.submit.at)):>8}"


def _outlook(job: Job, now: float) -> str:
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
