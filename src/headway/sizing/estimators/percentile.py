"""`percentile-50`, `percentile-95`: a percentile of the peaks so far."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any, ClassVar

from headway.model.records import Figure
from headway.sizing.estimators.base import MOST_RECORDS, Attempt, Estimate, Estimator, Query, earlier, thinned


class Percentile(Estimator):
    """A percentile of the peaks of all successes, from the first one on.

    Of n sorted peaks it stands at place (n - 1) · percent / 100, counted from 0; between two peaks it is interpolated.
    It is exact, so every peak is kept: in two heaps that meet at that place, which makes learning cost log n and asking
    nothing. Witt et al. 2019, section IV-A.

    >>> estimator = Percentile95()
    >>> for peak in (100.0, 200.0, 300.0):
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query()).value
    290.0
    """

    percent: ClassVar[int]

    def __init__(self) -> None:
        self._lower: list[float] = []  # all up to the percentile's place, negated, so that the greatest comes first
        self._upper: list[float] = []

    def estimate(self, query: Query) -> Estimate | None:
        if not self._lower:
            return None
        records = len(self._lower) + len(self._upper)
        part = (records - 1) * self.percent % 100 / 100
        below = -self._lower[0]
        above = self._upper[0] if self._upper else below
        value = below + part * (above - below)
        text = f"the {self.percent}th percentile of what {earlier(records)} used is {query.show(value)}"
        figures: dict[str, Figure] = {
            "percent": self.percent,
            "below": below,
            "above": above,
            "part": part,
            "records": records,
        }
        return Estimate(value, "percentile", figures, text)

    def learn(self, attempt: Attempt) -> None:
        peak = attempt.peak or 0.0
        if self._lower and peak < -self._lower[0]:
            heappush(self._lower, -peak)
        else:
            heappush(self._upper, peak)
        wanted = self._size_of_lower(len(self._lower) + len(self._upper))
        if len(self._lower) > wanted:
            heappush(self._upper, -heappop(self._lower))
        elif len(self._lower) < wanted:
            heappush(self._lower, -heappop(self._upper))
        if len(self._lower) + len(self._upper) > MOST_RECORDS:
            self.restore({"peaks": thinned(array("d", self.state()["peaks"]))})

    def state(self) -> dict[str, Any]:
        return {"version": 1, "peaks": sorted([-peak for peak in self._lower] + self._upper)}

    def restore(self, state: Mapping[str, Any]) -> None:
        peaks = [float(peak) for peak in state["peaks"]]
        split = self._size_of_lower(len(peaks)) if peaks else 0
        self._lower = [-peak for peak in reversed(peaks[:split])]  # a sorted list is a heap
        self._upper = peaks[split:]

    def _size_of_lower(self, records: int) -> int:
        return (records - 1) * self.percent // 100 + 1


class Percentile50(Percentile):
    """The median of the peaks so far: half of the tasks fail at first, which is cheap where they fail early.

    Witt et al. 2019, section IV-A.
    """

    name = "percentile-50"
    percent = 50


class Percentile95(Percentile):
    """The 95th percentile of the peaks so far (Witt et al. 2019, section IV-A)."""

    name = "percentile-95"
    percent = 95
