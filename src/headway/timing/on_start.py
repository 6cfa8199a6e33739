"""The next job is submitted when the one before it starts, so that it waits while that one runs."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing


class OnStart(Timing):
    """Submits as soon as no job of ours waits (002 §5.1). A job that may come too early asks for leeway."""

    name = "on-start"

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return all(job.latest_end is not None for job in live)

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        return now if self.may_be_due(live) else NOT_YET
