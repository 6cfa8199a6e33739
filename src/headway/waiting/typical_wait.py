"""`typical-wait`: the quantiles of all recent waits, whatever the job."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

from headway.model.records import Figure
from headway.waiting.base import Shape, WaitModel, is_wait
from headway.waiting.corrected_estimate import LATER, NOW, UNKNOWN, kind_of

MOST = 2000  # waits that are kept of each kind of question


class TypicalWait(WaitModel):
    """The quantiles of the last 2000 waits, for every job the same.

    Jobs that the scheduler plans to start at once, jobs that it plans to start later, and jobs without a plan are
    learned apart. The median of all waits is the best constant answer, so that a mixture that contains this model is
    not much worse than any constant.

    >>> model, shape = TypicalWait(), Shape(nodes=4, asked_s=3600)
    >>> for waited_s in (30.0, 10.0, 600.0):
    ...     model.observe(shape, {}, waited_s)
    >>> model.quantiles(Shape(nodes=64, asked_s=60), [0.1, 0.5, 0.9])
    [10.0, 30.0, 600.0]
    """

    name = "typical-wait"

    def __init__(self) -> None:
        self._waits_s: dict[str, list[float]] = {kind: [] for kind in (LATER, NOW, UNKNOWN)}  # oldest first
        self._sorted = {kind: sorted(waits_s) for kind, waits_s in self._waits_s.items()}

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles of the waits; 0 before the first."""
        known = self._sorted[kind_of(shape)] or [0.0]
        return [known[min(len(known) - 1, max(0, math.ceil(share * len(known)) - 1))] for share in shares]

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Add a wait that is known to its end."""
        if censored or not is_wait(waited_s):
            return
        waits_s, known = self._waits_s[kind_of(shape)], self._sorted[kind_of(shape)]
        waits_s.append(waited_s)
        insort(known, waited_s)
        if len(waits_s) > MOST:
            del known[bisect_left(known, waits_s.pop(0))]

    def state(self) -> dict[str, Any]:
        """The waits of each kind, oldest first."""
        return {"version": 1, "waits_s": {kind: waits_s.copy() for kind, waits_s in self._waits_s.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._waits_s = {kind: list(waits_s) for kind, waits_s in state["waits_s"].items()}
        self._sorted = {kind: sorted(waits_s) for kind, waits_s in self._waits_s.items()}
