"""Submit the next job after the last has ended."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing


class AfterEnd(Timing):
    """Submits the next job when all before it have ended; every queue wait adds to the makespan."""

    name = "after-end"

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return not live

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        return NOT_YET if live else now
