"""`WalltimeFromQuantiles`: how much time to ask of a batch queue, from the quantiles of earlier run times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.model.outcome import Outcome
from headway.model.records import Why
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.resource_rules import WALLTIME
from headway.sizing.runtime_model import RuntimeModel, walltime_request


class WalltimeFromQuantiles(Sizer):
    """Asks for the 0.99 quantile of the run time and some more; after one time-out for twice that, then for all.

    Where nothing limits time, the rules of walltime decide. How long the workflow says that a task takes is for plans.
    """

    def __init__(self, name: str) -> None:
        super().__init__(WALLTIME.resource)
        self.name = name
        self._times = RuntimeModel()

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        limit = context.limits.walltime_s
        if limit is None:
            return WALLTIME.cold_start(self.name, task, context)
        if len(failures) > 1 and failures[-1] < limit:
            # A third kill would lose everything again.
            why = Why(self.name, "whole-limit", {"limit": limit}, "it ran out of time twice: as long as is allowed")
            return Prediction(limit, why)
        if failures:
            return WALLTIME.retry(self.name, failures, context.limits)
        return walltime_request(self._times, task, limit, self.name)

    def observe(self, task: Task, outcome: Outcome) -> None:
        self._times.observe(task, outcome)

    def state(self) -> dict[str, Any]:
        return {"version": 1, "times": self._times.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._times.restore(state["times"])
