"""`per-process-max`, `max-seen`, `peak-plus-20`: the greatest peak so far, as it is or with a reserve."""

from __future__ import annotations

import math

from headway.model.records import Figure
from headway.sizing.estimators.base import Attempt, Estimate, Estimator, Query, earlier

STEP_BYTES = 250_000_000  # of max-seen
GIB = 2**30
RESERVE = 1.2  # of peak-plus-20, like the next
AFTER_RUNNING_OUT = 1.5


class PerProcessMax(Estimator):
    """The greatest peak of the category so far, as it is; before there is one, what the workflow asks for.

    What Seqera's resource optimisation for Nextflow does, here for comparison. Without rounding or a reserve, every new
    maximum is a failure.

    >>> estimator = PerProcessMax()
    >>> for peak in (100e6, 260e6):
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query()).value
    260000000.0
    """

    name = "per-process-max"
    rule = "maximum"
    learned = ("records", "maximum")

    def __init__(self) -> None:
        self._records = 0
        self._maximum = 0.0

    def estimate(self, query: Query) -> Estimate | None:
        if not self._records:
            return None
        figures: dict[str, Figure] = {"maximum": self._maximum, "records": self._records}
        text = f"the most that {earlier(self._records)} used is {query.show(self._maximum)}"
        return Estimate(self._maximum, self.rule, figures, text)

    def learn(self, attempt: Attempt) -> None:
        self._records += 1
        self._maximum = max(self._maximum, attempt.peak or 0.0)


class MaxSeen(PerProcessMax):
    """The greatest peak so far, rounded up; before there is one, the user's hint or a share of the machine.

    The next task nearly always needs a little more or less than the last. Rounding up absorbs that; without it, every
    new maximum would be a failure. Work Queue sizes tasks this way (Phung and Thain 2024, section V-C), except that
    there the first tasks and all that failed get the whole machine.

    `step`: maxima are rounded up to multiples of this; 250 MB for memory and disk, one core for cores.

    >>> from headway.model.resources import Resources
    >>> from headway.model.task import Task
    >>> from headway.sizing.base import Context
    >>> from headway.sizing.estimated import EstimatedSizer
    >>> sizer = EstimatedSizer(MaxSeen(), "memory_bytes")
    >>> sizer.restore({"version": 1, "records": 2, "maximum": 260e6})
    >>> context = Context(Resources(cores=2, memory_bytes=8_000_000_000))
    >>> sizer.predict(Task("t", "align", "true"), [], context).value
    500000000
    """

    name = rule = "max-seen"

    def __init__(self, step: int = STEP_BYTES) -> None:
        super().__init__()
        self.step = step

    def estimate(self, query: Query) -> Estimate | None:
        found = super().estimate(query)
        if found is not None:
            found.figures["bucket"] = self.step
        return found


class PeakPlus20(PerProcessMax):
    """The greatest peak so far and a fifth more, in whole GiB; 1.5 times what ran out after that was too little.

    What Torc's resource correction does, here for comparison. Before there is a record, what the workflow asks for. The
    fifth is for memory and disk; cores are sized by `PerProcessMax`.

    >>> estimator = PeakPlus20()
    >>> estimator.learn(Attempt(1.5 * 2**30))
    >>> estimator.estimate(Query()).value / 2**30
    2.0
    """

    name = "peak-plus-20"
    rule = "maximum-and-a-fifth"

    def estimate(self, query: Query) -> Estimate | None:
        found = super().estimate(query)
        if found is None:
            return None
        value = _whole_gib(RESERVE * self._maximum)
        figures: dict[str, Figure] = found.figures | {"factor": RESERVE, "unit": float(GIB)}
        text = f"{found.text}: a fifth more, rounded up to whole GiB, is {query.show(value)}"
        return Estimate(value, self.rule, figures, text)

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
