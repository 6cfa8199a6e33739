"""One job after the other."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing


class AfterEnd(Timing):
    """The next job is submitted when all before it have ended: every wait is felt in full."""

    name = "after-end"

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return not live

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        return NOT_YET if live else now
