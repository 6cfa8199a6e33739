"""Submit the next job when the last starts, so that it waits while the last runs."""

from __future__ import annotations

from collections.abc import Sequence

from headway.timing.base import NOT_YET, Predecessor, Timing


class OnStart(Timing):
    """Submits as soon as no job of the run waits (GLUME thesis, §5.1). A job that may start too early needs leeway."""

    name = "on-start"

    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        return all(job.latest_end is not None for job in live)

    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        return now if self.may_be_due(live) else NOT_YET
