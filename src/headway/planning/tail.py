"""The tail of a run: release jobs that the remaining tasks do not need."""

from __future__ import annotations

from collections.abc import Sequence

from headway.grouping.base import Levels
from headway.planning.base import Estimate, JobStatus, View

_ROUNDS = 4  # with more tasks than this for each slot the run is not in its tail


def unneeded(view: View, idle: Sequence[JobStatus], estimate: Estimate, now: float) -> list[JobStatus]:
    """The idle jobs without which the remaining tasks end as early, on nodes that other jobs hold for long enough."""
    kept = [job for job in view.live if job.started_at is not None and not job.tasks]
    free = sorted((job for job in idle if not job.tasks), key=_nodes)
    if not free or len(free) == len(kept):  # at least one job must be kept
        return []
    tasks_per_node = view.tasks_per_node()
    held = sum(map(_nodes, kept))
    if view.unfinished > _ROUNDS * held * tasks_per_node:
        return []
    levels = Levels(view.remaining(), estimate, held, tasks_per_node)
    if not len(levels):
        return []
    run_s = levels.run_s(0, levels.last)
    widest = levels.least_nodes(0, levels.last)
    dropped: list[JobStatus] = []
    for job in reversed(free):
        rest = [other for other in kept if other is not job]
        through_s = run_s[min(held, len(run_s)) - 1]
        as_soon = run_s[min(held - _nodes(job), len(run_s)) - 1] <= through_s
        lasting = all(_ends_at(other) >= now + through_s for other in rest)
        if as_soon and lasting and widest <= max(map(_nodes, rest)):
            kept, held = rest, held - _nodes(job)
            dropped.append(job)
    return dropped


def _nodes(job: JobStatus) -> int:
    return job.request.per_node.nodes


def _ends_at(job: JobStatus) -> float:
    walltime_s = job.request.per_node.walltime_s
    return float("inf") if walltime_s is None else (job.started_at or 0.0) + walltime_s
