"""`user`: believe the workflow file."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.rules import after_failure, without_record


class User(Sizer):
    """The user's hint, doubled each time it runs out; without a hint a share of the machine.

    What most people do today, and the baseline that everything else has to beat.
    """

    name = "user"

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits)
        return without_record(self.name, self.resource, task, context)
