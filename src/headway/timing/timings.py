"""The timings: submit after the last job's end, at its start, or an expected wait before the next job is needed."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing

COVERS = 0.9  # the quantile of the wait to plan with where an early job costs nothing
LEAST_AHEAD_S = 10_000.0  # and the least time ahead: ASA's quantile before it has learned anything


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

    A dependent job that was submitted early enough waits for nothing but its predecessor, and teaches that waits are
    short. A plan that believed this would be late the next time, so such a job is submitted 10,000 s ahead or more.

    `as_printed`: what §3.2 says and no more. The expected wait is the one that the wait model samples, not a quantile,
    there is no least time, and a job is submitted only while its predecessor runs. Without `depends` this holds anyway.
    """

    name = "ahead"

    def __init__(self, *, depends: bool = True, as_printed: bool = False) -> None:
        self.depends = depends
        self.resubmits = not depends
        early = depends and not as_printed
        self.covers = COVERS if early else None
        self._least_s = LEAST_AHEAD_S if early else 0.0

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return self.covers is not None or _all_have_started(live)

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        if not self.may_be_due(live):
            return NOT_YET
        at = max((job.earliest_end for job in live), default=now) - max(wait_s, self._least_s)
        if at > now and not _all_have_started(live):
            return NOT_YET  # the time moves on by a minute with every minute that they wait
        return max(now, at)


def _all_have_started(live: Sequence[Predecessor]) -> bool:
    return all(job.expected_end is not None for job in live)
