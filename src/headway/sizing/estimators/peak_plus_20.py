"""`peak-plus-20`: the greatest peak and a fifth more, in whole GiB."""

from __future__ import annotations

import math

from msgspec import structs

from headway.model.records import Figure
from headway.sizing.estimators.base import Estimate, Query
from headway.sizing.estimators.per_process_max import PerProcessMax

GIB = 2**30
RESERVE = 1.2
AFTER_RUNNING_OUT = 1.5


class PeakPlus20(PerProcessMax):
    """The greatest peak so far and a fifth more, in whole GiB; 1.5 times what ran out after that was too little.

    What Torc's resource correction does, here for comparison. Before there is a record, what the workflow asks for. The
    fifth is for memory and disk; cores are sized by `PerProcessMax`.

    >>> from headway.sizing.estimators.base import Attempt
    >>> estimator = PeakPlus20()
    >>> estimator.learn(Attempt(1.5 * 2**30))
    >>> estimator.estimate(Query()).value / 2**30
    2.0
    """

    name = "peak-plus-20"

    def estimate(self, query: Query) -> Estimate | None:
        found = super().estimate(query)
        if found is None:
            return None
        value = _whole_gib(RESERVE * self._maximum)
        figures: dict[str, Figure] = found.figures | {"factor": RESERVE, "unit": float(GIB)}
        text = f"{found.text}: a fifth more, rounded up to whole GiB, is {query.show(value)}"
        return structs.replace(found, value=value, rule="maximum-and-a-fifth", figures=figures, text=text)

    def after_failure(self, at_least: float, query: Query) -> Estimate | None:
        figures: dict[str, Figure] = {
            "given": query.given,
            "at_least": at_least,
            "factor": AFTER_RUNNING_OUT,
            "unit": float(GIB),
        }
        text = f"{query.show(query.given)} ran out: half as much again, rounded up to whole GiB"
        value = max(_whole_gib(AFTER_RUNNING_OUT * query.given), at_least)
        return Estimate(value, "half-as-much-again", figures, text)


def _whole_gib(amount: float) -> float:
    return float(GIB * max(1, math.ceil(amount / GIB)))
