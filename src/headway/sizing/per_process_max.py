"""`per-process-max`: what Seqera's resource optimisation does: each process gets the most it was seen to use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.learning import Learned, LearningSizer, earlier
from headway.sizing.observing import learned_peak


class PerProcessMax(LearningSizer):
    """The greatest peak of the category so far, as it is; before there is one, what the workflow asks for.

    A rule of thumb in use today, here for comparison. Without rounding or reserve, every new maximum is a failure.

    >>> sizer = PerProcessMax("memory_bytes")
    >>> sizer.restore({"version": 1, "records": 2, "maximum": 260e6})
    >>> sizer.learned(Task("t", "t", "true")).value
    260000000.0
    """

    name = "per-process-max"

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._records = 0
        self._maximum = 0.0

    def learned(self, task: Task) -> Learned | None:
        if not self._records:
            return None
        figures: dict[str, Figure] = {"maximum": self._maximum, "records": self._records}
        text = f"the most that {earlier(self._records)} used is {describe(self.resource, self._maximum)}"
        return Learned(self._maximum, "maximum", figures, text)

    def observe(self, task: Task, outcome: Outcome) -> None:
        peak = learned_peak(self.resource, outcome)
        if peak is not None:
            self._records += 1
            self._maximum = max(self._maximum, peak)

    def state(self) -> dict[str, Any]:
        return {"version": 1, "records": self._records, "maximum": self._maximum}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._records = int(state["records"])
        self._maximum = float(state["maximum"])
