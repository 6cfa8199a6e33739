"""What the queue's own plan says: everybody takes as long as they asked for, and nobody comes."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import Figure
from headway.waiting.base import Draw, Shape, Wait, WaitModel


class SchedulerEstimate(WaitModel):
    """The scheduler's own plan, taken at its word.

    All of the distribution is at the one figure. Where the queue could not be asked, there is nothing to go by: 0.

    >>> SchedulerEstimate().quantiles(Shape(nodes=4, asked_s=3600, estimate_s=120.0), [0.5, 0.95])
    [120.0, 120.0]
    """

    name = "scheduler-estimate"
    learns = False

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """What the plan says."""
        return Wait(max(0.0, shape.estimate_s or 0.0))

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """The same for every share."""
        return [self.predict(shape).wait_s] * len(shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Nothing is learned."""
