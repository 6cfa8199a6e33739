"""`Longest`: a wait model that shows what there is to be had by being early."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import Figure
from headway.waiting.asa import ALTERNATIVES_S
from headway.waiting.base import Draw, Shape, Wait, WaitModel


class Longest(WaitModel):
    """Always reckons with the longest wait there is: all stages are asked for at once, and what can be had is had."""

    name = "longest"
    learns = False

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        return Wait(ALTERNATIVES_S[-1])

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        return [ALTERNATIVES_S[-1]] * len(shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """It knows already."""
