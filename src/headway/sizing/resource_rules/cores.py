"""The rules of cores."""

from __future__ import annotations

import math

from headway.model.outcome import Outcome, Quality
from headway.model.records import Figure, Why
from headway.model.task import Task
from headway.sizing.base import Context, Prediction
from headway.sizing.estimators.base import Estimator
from headway.sizing.observing import SHORTEST_S
from headway.sizing.resource_rules.base import ResourceRules


class CoresRules(ResourceRules):
    """Most programs use as many cores as they were told to, and with too few of them they only take longer.

    So a stated number counts, and an estimate is rounded to whole cores. On a site that ends a task which keeps more
    cores busy than it was given, too few are a failure: then `step` says how an estimate is rounded up.
    """

    resource = "cores"

    def is_compressible(self, context: Context) -> bool:
        return "cores" not in context.kills

    def is_stated(self, task: Task, context: Context, estimator: Estimator) -> bool:
        heeded = not estimator.climbs or self.is_compressible(context)
        return "cores" in task.hints and heeded and not estimator.overrules

    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        limit = context.limits.cores
        return Prediction(min(1.0, limit), Why(policy, "one-core", {"limit": limit}, "nothing is known yet: one core"))

    def rounded(self, value: float, given: float, step: float, context: Context) -> float:
        """Round to the nearest whole number: 1.1 cores are one busy core and a noisy clock."""
        if not self.is_compressible(context):
            return step * max(1, math.ceil(value / step)) if step else value
        nearest = max(1.0, math.floor(value + 0.5))
        return nearest if nearest > given else math.ceil(value)

    def rounding(self, step: float, context: Context) -> dict[str, Figure]:
        return {"rounded": "to the nearest" if self.is_compressible(context) else "up"} if step else {}

    def peak(self, outcome: Outcome) -> float | None:
        # In a run of milliseconds, CPU time in clock ticks does not tell how many cores were busy.
        seconds, found = outcome.ended_at - outcome.started_at, outcome.usage.cores_peak
        if seconds < SHORTEST_S and found is not None and found.quality is not Quality.EXACT:
            return None
        return super().peak(outcome)
