"""The next job is submitted so long before it is needed as it is expected to wait."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing


class Ahead(Timing):
    """Submits at the expected end of the job before it minus the expected wait (000 §3.2).

    `depends`: the scheduler is told that the job waits for its predecessor, so that it cannot come too early. Otherwise
    one that comes too early is given back and asked for again (000 §4.5, `naive`).
    """

    name = "ahead"

    def __init__(self, *, depends: bool = True) -> None:
        self.depends = depends
        self.resubmits = not depends

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return all(job.expected_end is not None for job in live)

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        if not self.may_be_due(live):
            return NOT_YET
        end = max((job.expected_end for job in live if job.expected_end is not None), default=now)
        return max(now, end - wait_s)
