"""A run's summary as a JSON document; `docs/command-line.md` lists its keys."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from headway.journal.folder import RunFolder
from headway.journal.story.jobs import Job
from headway.model.resources import Resources
from headway.report.run.again import again
from headway.report.run.figures import STATES, Figures, ResourceTotals
from headway.report.run.summary import RunSummary
from headway.version import __version__


def document(summary: RunSummary, folder: RunFolder, state: str, now: float) -> dict[str, Any]:
    """The document of `headway status --json` and `headway run --json`."""
    settings = summary.settings
    whole = summary.whole()
    return {
        "headway": __version__,
        "run": folder.run,
        "name": settings.name if settings else "",
        "state": state,
        "directory": settings.directory if settings else "",
        "source": settings.source if settings else "",
        "journal": str(folder.journal),
        "sizer": settings.sizer if settings else "",
        "order": settings.order if settings else "",
        "only": list(settings.tasks) if settings else [],
        "only_columns": list(settings.only) if settings else [],
        "until": list(settings.until) if settings else [],
        "seed": settings.seed if settings else 0,
        "settings": to_builtins(settings.chosen) if settings else [],
        "config": settings.config if settings else {},
        "again": again(settings) if settings else "",
        "started_at": settings.at if settings else None,
        "ended_at": summary.last_at if summary.finished else None,
        "wall_s": summary.elapsed_s(now if state == "running" else None),
        "warnings": list(settings.warnings) if settings else [],
        "limits": amounts(summary.limits),
        "jobs": len(summary.jobs.known),
        "calls": dict(summary.calls),
        "core_hours_held": summary.jobs.held_core_hours(now if state == "running" else summary.last_at),
        "core_hours_used": summary.jobs.used_core_hours,
        "billing_hours": summary.jobs.billing_hours(now if state == "running" else summary.last_at),
        "queue": [_job(tag, job) for tag, job in summary.jobs.live().items()] if summary.batch else [],
        "unread": [
            {"wish": str(it.wish or ""), "since": it.at, "because": it.message}
            for it in summary.unread.values()
            if not summary.finished
        ],
        "avoided": [
            {"node": it.node, "until": it.until, "because": it.why.text}
            for it in summary.avoided.values()
            if it.until > now and not summary.finished
        ],
        **_figures(whole),
        "categories": [{"category": figures.name, **_figures(figures)} for figures in summary.categories.values()],
        "ran_because": [
            {"category": category, "because": because, "tasks": tasks}
            for (category, because), tasks in summary.reasons.items()
        ],
        "running": [
            {
                "task": launch.task,
                "attempt": launch.attempt,
                "node": launch.node,
                "launched_at": launch.at,
                "given": amounts(launch.resources),
            }
            for launch in summary.running.values()
        ],
        "failed": [
            {
                "task": failure.task,
                "category": failure.category,
                "attempt": failure.attempt or None,
                "rule": failure.why.rule,
                "message": failure.why.text,
                "figures": failure.why.figures,
            }
            for failure in summary.failures.values()
        ],
    }


def _job(tag: str, job: Job) -> dict[str, Any]:
    """A job that waits or runs, and what the batch system says of it."""
    seen = job.seen
    runs = "suspended" if seen and seen.suspended else "running"
    return {
        "tag": tag,
        "job_id": seen.job_id if seen else None,
        "state": "waiting" if job.started_at is None else runs,
        "reason": seen.message if seen and job.started_at is None else "",
        "held": bool(seen and seen.held and job.started_at is None),
        "asked": {"nodes": job.submit.request.per_node.nodes, **amounts(job.submit.request.per_node)},
        "given_back_nodes": job.given,
        "wish": job.submit.request.wish.stated() if job.submit.request.wish else {},
        "submitted_at": job.submit.at,
        "started_at": job.started_at,
        "expected_start_at": job.expected_at if job.started_at is None else None,
    }


def amounts(resources: Resources) -> dict[str, float | None]:
    """The non-zero amounts by name, and always the walltime: null means no limit."""
    return {name: value for name, value in resources.amounts().items() if value or name == "walltime_s"}


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "tasks": {name: getattr(figures, name) for name in ("total", *STATES)},
        "attempts": figures.attempts,
        "attempts_lost": figures.lost,
        "run_time_s": figures.run_s,
        "resources": {resource: _totals(totals) for resource, totals in figures.totals.items()},
    }


def _totals(totals: ResourceTotals) -> dict[str, float | int | None]:
    return {
        "asked_mean": totals.asked_mean,
        "used_mean": totals.used_mean,
        "used_max": totals.most,
        "measured": totals.used_count,
        "allocated_s": totals.allocated,
        "consumed_s": totals.consumed,
        "wasted_s": totals.wasted,
        "awe": totals.awe,
    }
