"""The timings: submit after the last job's end, at its start, or an expected wait before the next job is needed."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing

COVERS = 0.9  # the quantile of the wait to plan with where an early job costs nothing


class AfterEnd(Timing):
    """Submits the next job when all before it have ended; every queue wait adds to the makespan."""

    name = "after-end"

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return not live

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        return NOT_YET if live else now


class OnStart(Timing):
    """Submits as soon as no job of the run waits (GLUME thesis, §5.1). A job that may start too early needs leeway."""

    name = "on-start"

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return all(job.latest_end is not None for job in live)

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        return now if self.may_be_due(live) else NOT_YET


class Ahead(Timing):
    """Submits at the expected end of the predecessor minus the expected wait (Souza et al. 2020, §3.2).

    `depends`: the job is submitted with a dependency on its predecessor, so that it cannot start too early. Then it may
    be submitted while its predecessor still waits (§4.6: "earlier than even upcoming stages"), as soon as its expected
    wait exceeds the time that the jobs before it would take if the first of them started now. Without `depends`, a job
    that starts too early is cancelled and submitted again (§4.5, `naive`).
    """

    name = "ahead"

    def __init__(self, *, depends: bool = True) -> None:
        self.depends = depends
        self.resubmits = not depends
        self.covers = COVERS if depends else None

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return self.depends or _all_have_started(live)

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        if not self.may_be_due(live):
            return NOT_YET
        at = max((job.earliest_end for job in live), default=now) - wait_s
        if at > now and not _all_have_started(live):
            return NOT_YET  # the time moves on by a minute with every minute that they wait
        return max(now, at)


def _all_have_started(live: Sequence[Predecessor]) -> bool:
    return all(job.expected_end is not None for job in live)
