"""`ChainedPlanner`: ASA that also submits ahead of jobs which themselves still wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headway.model.records import AskQueue, Decision, Figure
from headway.planning.base import JobStatus, View
from headway.planning.staged import StagedPlanner
from headway.timing.base import Predecessor
from headway.waiting.asa import ALTERNATIVES_S
from headway.waiting.base import Draw, Shape, Wait, WaitModel


class ChainedPlanner(StagedPlanner):
    """As `asa`, but what a waiting job will take is believed too: submitted + predicted wait + run time.

    000 §3.2 submits at the expected end of the ongoing stage minus the predicted wait; Figure 4 shows two submissions
    under way at a time, and §4.6 has jobs submitted "earlier than even upcoming stages". A plan that waits until the
    stage before has started can hide no more of a wait than that stage's run time.
    """

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        releases = self._releases(view, now)
        if releases:
            return releases
        if view.stopping or not view.unfinished:
            return []
        covered = {task for job in live for task in job.tasks}
        remaining = [task for task in view.remaining() if task.id not in covered]
        if not remaining:
            return []
        if view.queue is None:
            return [AskQueue(now)]
        # Whenever a job has started or ended the next may be due sooner than was thought, so no alarm is waited for.
        return self._next(view, view.queue, remaining, expected(live, now), now)


class Longest(WaitModel):
    """Always reckons with the longest wait there is: all stages are asked for at once, and what can be had is had."""

    name = "longest"
    learns = False

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        return Wait(ALTERNATIVES_S[-1])

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        return [ALTERNATIVES_S[-1]] * len(shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """It knows already."""


def expected(live: Iterable[JobStatus], now: float) -> list[Predecessor]:
    """When each of our jobs is expected to end, in line: none starts before the one in front of it has ended."""
    found: list[Predecessor] = []
    free = now
    for job in live:
        walltime_s = job.request.per_node.walltime_s or 0.0
        wait_s = job.ticket.get("wait_s")
        begin = job.started_at
        if begin is None:
            begin = max(free, job.submitted_at + (wait_s if isinstance(wait_s, int | float) else 0.0))
        expected_s = walltime_s if job.expected_s is None else min(job.expected_s, walltime_s)
        free = max(now, begin + expected_s)
        found.append(Predecessor(job.tag, free, begin + walltime_s))
    return found
