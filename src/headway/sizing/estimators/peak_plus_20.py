"""`peak-plus-20`: what Torc's resource correction does: the maximum and a fifth, in whole GiB."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import structs

from headway.model.records import Figure, Why
from headway.model.resources import Resources, describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Prediction
from headway.sizing.estimators.per_process_max import PerProcessMax
from headway.sizing.learning import Learned

GIB = 2**30
RESERVE = 1.2
AFTER_RUNNING_OUT = 1.5


class PeakPlus20(PerProcessMax):
    """The greatest peak so far and a fifth more, in whole GiB; 1.5 times what ran out after that was too little.

    A rule of thumb in use today, here for comparison. Before there is a record, what the workflow asks for. Cores are
    the most that were seen, and doubled where too few end a task: the fifth is for memory and disk.

    >>> sizer = PeakPlus20("memory_bytes")
    >>> sizer.restore({"version": 1, "records": 2, "maximum": 1.5 * 2**30})
    >>> sizer.learned(Task("t", "t", "true")).value / 2**30
    2.0
    """

    name = "peak-plus-20"

    def learned(self, task: Task) -> Learned | None:
        found = super().learned(task)
        if found is None or not self._in_gib():
            return found
        value = _whole_gib(RESERVE * self._maximum)
        figures: dict[str, Figure] = found.figures | {"factor": RESERVE, "unit": float(GIB)}
        text = f"{found.text}: a fifth more, rounded up to whole GiB, is {describe(self.resource, value)}"
        return structs.replace(found, value=value, rule="maximum-and-a-fifth", figures=figures, text=text)

    def again(self, failures: Sequence[float], limits: Resources, learned: float) -> Prediction | CannotFit:
        given, limit = failures[-1], limits[self.resource]
        if not self._in_gib() or (limit is not None and given >= limit):
            return super().again(failures, limits, learned)
        wanted = max(_whole_gib(AFTER_RUNNING_OUT * given), learned)
        figures: dict[str, Figure] = {
            "given": given,
            "at_least": learned,
            "factor": AFTER_RUNNING_OUT,
            "unit": float(GIB),
            "limit": limit,
        }
        text = f"{describe(self.resource, given)} ran out: half as much again, rounded up to whole GiB"
        why = Why(self.name, "half-as-much-again", figures, text)
        return Prediction(wanted if limit is None else min(wanted, limit), why)

    def _in_gib(self) -> bool:
        return self.resource in ("memory_bytes", "disk_bytes")


def _whole_gib(amount: float) -> float:
    return float(GIB * max(1, math.ceil(amount / GIB)))
