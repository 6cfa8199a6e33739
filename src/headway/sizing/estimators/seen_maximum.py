"""`SeenMaximum`: what estimators remember that go by the greatest peak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.sizing.estimators.base import Attempt, Estimator


class SeenMaximum(Estimator):
    """The greatest peak so far, and the number of peaks."""

    def __init__(self) -> None:
        self._records = 0
        self._maximum = 0.0

    def learn(self, attempt: Attempt) -> None:
        self._records += 1
        self._maximum = max(self._maximum, attempt.peak or 0.0)

    def state(self) -> dict[str, Any]:
        return {"version": 1, "records": self._records, "maximum": self._maximum}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._records = int(state["records"])
        self._maximum = float(state["maximum"])
