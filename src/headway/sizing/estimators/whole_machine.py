"""`whole-machine`: one task at a time gets everything (paper 001, section V: the naive baseline)."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import Why
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.rules import after_failure, without_record


class WholeMachine(Sizer):
    """Everything that there is: never too little where it could have been enough, and never two tasks at once."""

    name = "whole-machine"

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits)
        if self.resource == "walltime_s":
            return without_record(self.name, self.resource, task, context)
        limit = context.limits[self.resource]
        return Prediction(limit, Why(self.name, "whole-machine", {"limit": limit}, "each task gets the whole machine"))
