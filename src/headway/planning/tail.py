"""The tail of a run: release jobs that the remaining tasks do not need."""

from __future__ import annotations

from collections.abc import Sequence

from headway.planning.base import Estimate, JobStatus, View

_ROUNDS = 4  # with more tasks than this for each slot the run is not in its tail


def unneeded(view: View, idle: Sequence[JobStatus], estimate: Estimate, now: float) -> list[JobStatus]:
    """The idle jobs without which the remaining tasks end as early, on nodes that other jobs hold for long enough."""
    kept = [job for job in view.live if job.started_at is not None and not job.tasks and not job.suspended]
    free = sorted((job for job in idle if not job.tasks), key=_width)
    if not free or len(free) == len(kept):  # at least one job must be kept
        return []
    held = sum(map(_width, kept))
    if view.unfinished > _ROUNDS * held * view.tasks_per_node():
        return []
    remaining = view.remaining()
    if not remaining:
        return []
    levels = view.packing(remaining).levels(remaining, estimate, held)
    run_s = levels.run_s(0, levels.last)
    widest = levels.least_nodes(0, levels.last)
    dropped: list[JobStatus] = []
    for job in reversed(free):
        rest = [other for other in kept if other is not job]
        through_s = run_s[min(held, len(run_s)) - 1]
        as_soon = run_s[min(held - _width(job), len(run_s)) - 1] <= through_s
        lasting = all(other.ends_at >= now + through_s for other in rest)
        if as_soon and lasting and widest <= max(map(_width, rest)):
            kept, held = rest, held - _width(job)
            dropped.append(job)
    return dropped


def _width(job: JobStatus) -> int:
    return job.width
