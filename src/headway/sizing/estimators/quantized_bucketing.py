"""`quantized-bucketing`: the lower half of earlier peaks, then all of them (Phung et al. 2021, as in 001 section V).

001 says of it that it has two buckets, separated at the 50th quantile, and that it explores with the whole machine. It
does not say that a bucket is drawn: that it introduces as its own algorithms' way. So the lower bucket comes first and
a task that fails moves up, which also explains what 001 finds of this one alone, that it gives too little rather than
too much (section V-D).
"""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Mapping, Sequence
from typing import Any

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, PriorFree
from headway.sizing.learning import Learned
from headway.sizing.observing import learned_peak
from headway.sizing.rules import after_failure


class QuantizedBucketing(PriorFree):
    """The most that the lower half of earlier ones used, then the most that any did, then twice what ran out. Until
    there are 10 records, the whole machine."""

    name = "quantized-bucketing"

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._values = array("d")  # sorted

    def learned(self, given: float, context: Context) -> Learned | None:
        records = len(self._values)
        if records < ENOUGH_RECORDS:
            return None
        lower, greatest = self._values[(records - 1) // 2], self._values[-1]
        figures: dict[str, Figure] = {"lower": lower, "greatest": greatest, "records": records, "given": given}
        if given < lower:
            text = f"the lower half of {records} earlier ones used up to {describe(self.resource, lower)}"
            return Learned(lower, "lower-half", figures, text)
        if given < greatest:
            most = f"the most that {records} earlier ones used is {describe(self.resource, greatest)}"
            return Learned(greatest, "greatest", figures, f"{describe(self.resource, given)} ran out: {most}")
        return None

    def explore(self, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits)
        return self.whole_machine(len(self._values), failures, context)

    def observe(self, task: Task, outcome: Outcome) -> None:
        peak = learned_peak(self.resource, outcome)
        if peak is not None:
            insort(self._values, peak)

    def state(self) -> dict[str, Any]:
        return {"version": 1, "values": self._values.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._values = array("d", state["values"])
