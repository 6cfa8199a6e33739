"""The rules of walltime."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimators.base import Estimator
from headway.sizing.resource_rules.base import ResourceRules

# More time does not help a task that hangs: after this many time-outs it is given up.
MOST_TIMEOUTS = 3


class WalltimeRules(ResourceRules):
    """Time is never cut to what was seen: a kill would lose everything and save nothing.

    No estimator of peaks is asked. `WalltimeFromQuantiles` asks a batch queue for less than its limit where the runtime
    model knows enough.
    """

    resource = "walltime_s"

    def is_estimated(self, task: Task, estimator: Estimator) -> bool:
        return False

    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        limit = context.limits.walltime_s
        return Prediction(limit, Why(policy, "no-limit", {"limit": limit}, "nothing says how long it may take"))

    def retry(
        self, policy: str, failures: Sequence[float], limits: Resources, at_least: float = 0.0
    ) -> Prediction | CannotFit:
        given, limit = failures[-1], limits.walltime_s
        if len(failures) < MOST_TIMEOUTS or (limit is not None and given >= limit):
            return super().retry(policy, failures, limits, at_least)
        figures: dict[str, Figure] = {"given": given, "at_least": at_least, "limit": limit}
        text = f"it ran out of time {len(failures)} times, last after {self.show(given)}"
        why = Why(policy, "too-many-timeouts", figures, text)
        return CannotFit(self.resource, 2 * given, given, why, reason="too-many-timeouts")

    def rounded(self, value: float, given: float, step: float, context: Context) -> float:
        return value
