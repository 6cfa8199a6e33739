"""`scheduler-estimate`: the wait by the scheduler's own plan."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import Figure
from headway.waiting.base import Draw, Shape, Wait, WaitModel


class SchedulerEstimate(WaitModel):
    """The wait by the scheduler's own plan: every job runs for its whole walltime, and no further job is submitted.

    Every quantile is that wait; without an estimate it is 0.

    >>> SchedulerEstimate().quantiles(Shape(nodes=4, asked_s=3600, estimate_s=120.0), [0.5, 0.95])
    [120.0, 120.0]
    """

    name = "scheduler-estimate"
    learns = False

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """The estimate, or 0 without one."""
        return Wait(max(0.0, shape.estimate_s or 0.0))

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """The estimate for every share."""
        return [self.predict(shape).wait_s] * len(shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Learn nothing."""
