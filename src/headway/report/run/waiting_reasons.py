"""What waits in a run, and why: one line for each category or cause."""

from __future__ import annotations

from headway.model.units import format_bytes
from headway.report.run.job_lines import named, outlook, shape_of, without_nodes
from headway.report.run.watched_run import WatchedRun
from headway.report.words import clock, count, harmless

_MOST_NAMED = 3


def waiting_reasons(run: WatchedRun, state: str, now: float) -> list[tuple[str, str]]:
    """Return pairs of what waits and why, the most urgent first; `headway why TASK` tells more of one task."""
    if state in ("succeeded", "failed"):
        return _cut_off(run)
    found: list[tuple[str, str]] = []
    if state in ("interrupted", "stopped"):
        number = run.settings.run if run.settings else ""
        gone = "its manager is gone, nothing is lost: " if state == "interrupted" else "it was stopped: "
        found.append(("the run", f"{gone}`headway resume {number}` goes on with it"))
    elif run.stopping:
        how = "may end" if run.stopping == "gently" else "are being ended"
        found.append(("the run", f"is being stopped: no task starts any more, running ones {how}"))
    found += [without_nodes(unread) for unread in run.unread.values()]
    found += [
        (harmless(name), f"is being created since {clock(record.at)}, tasks wait for it; its log is {record.log}")
        for name, record in run.creating.items()
    ]
    for name, figures in run.categories.items():
        if ready := run.ready(name):
            found.append((f"{harmless(name)}: {ready:,} ready", _of_ready(run, name, now)))
        if (blocked := figures.waiting - run.ready(name)) > 0:
            found.append((f"{harmless(name)}: {blocked:,} waiting", _of_blocked(run, name)))
    return found + _cut_off(run)


def _of_ready(run: WatchedRun, category: str, now: float) -> str:
    """Why tasks that could run do not."""
    if run.stopping or run.finished:
        return "no task starts before the run is resumed"
    waiting = [job for job in run.jobs.live().values() if job.started_at is None]
    if waiting and run.batch and not run.capacity:
        job = next((job for job in waiting if job.seen and job.seen.held), waiting[0])
        why = [harmless(job.seen.message)] if job.seen and job.seen.message else []
        held = " (HELD)" if job.seen and job.seen.held else ""
        others = f" or {count(len(waiting) - 1, 'other job')}" if waiting[1:] else ""
        return "; ".join(
            [f"for job {named(job)}{held} ({shape_of(job)}){others} to start", *why, *outlook(job.expected_at, now)]
        )
    used, available = run.in_use(), run.available()
    room = f"{used.cores:g} of {available.cores:g} cores"
    room += f" and {format_bytes(used.memory_bytes)} of {format_bytes(available.memory_bytes)} memory are in use"
    sizes = run.sizes[category].now
    needs = f"; each was last given {sizes.replace(disk_bytes=0, walltime_s=None)}" if sizes else ""
    soon = [f"; job {named(job)} is {words}" for job in waiting[:1] for words in outlook(job.expected_at, now)]
    return f"for room: {room}{needs}{''.join(soon)}"


def _of_blocked(run: WatchedRun, category: str) -> str:
    """Which categories tasks wait for, and how much of these is left."""
    above = [run.categories[name] for name in sorted(run.needed.get(category, ()))]
    left = [f"{harmless(it.name)} ({it.total - it.done:,} of {it.total:,} left)" for it in above if it.done < it.total]
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    return f"for {', '.join(left[:_MOST_NAMED])}{more}" if left else "for what they depend on"


def _cut_off(run: WatchedRun) -> list[tuple[str, str]]:
    cut = run.whole().cut_off
    if not cut:
        return []
    failed = [harmless(task) for task in list(run.failures)[:_MOST_NAMED]]
    more = f" and {len(run.failures) - _MOST_NAMED:,} more" if len(run.failures) > _MOST_NAMED else ""
    why = f"they depend on {', '.join(failed)}{more}, which failed" if failed else "they were cancelled"
    return [(f"{cut:,} cut off", why)]
