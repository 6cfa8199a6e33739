"""`scheduler-estimate`: the wait by the scheduler's own plan."""

from __future__ import annotations

from collections.abc import Sequence

from headway.waiting.base import Shape, WaitModel


class SchedulerEstimate(WaitModel):
    """The wait by the scheduler's own plan: every job runs for its whole walltime, and no further job is submitted.

    Every quantile is that wait; without an estimate it is 0.

    >>> SchedulerEstimate().quantiles(Shape(nodes=4, asked_s=3600, estimate_s=120.0), [0.5, 0.95])
    [120.0, 120.0]
    """

    name = "scheduler-estimate"
    learns = False

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """The estimate for every share."""
        return [max(0.0, shape.estimate_s or 0.0)] * len(shares)
