"""`SeenMaximum`: what sizers remember that go by the greatest peak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.model.outcome import Outcome
from headway.model.task import Task
from headway.sizing.base import Sizer
from headway.sizing.observing import learned_peak


class SeenMaximum(Sizer):
    """The greatest peak so far, and of how many."""

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._records = 0
        self._maximum = 0.0

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
