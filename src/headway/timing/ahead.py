"""The next job is submitted so long before it is needed as it is expected to wait."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing

COVERS = 0.9  # where it costs nothing to be early, all but the longest waits are reckoned with


class Ahead(Timing):
    """Submits at the expected end of the job before it minus the expected wait (000 §3.2).

    `depends`: the scheduler is told that the job waits for its predecessor, so that it cannot come too early. Then it
    may be submitted while that one still waits (000 §4.6: "earlier than even upcoming stages"): as soon as it is
    expected to wait longer than those before it would take if the first of them started now. Otherwise one that comes
    too early is given back and asked for again (000 §4.5, `naive`).
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
            return NOT_YET  # with every minute that they wait it is a minute later
        return max(now, at)


def _all_have_started(live: Sequence[Predecessor]) -> bool:
    return all(job.expected_end is not None for job in live)
