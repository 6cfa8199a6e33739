"""What holds for a resource, whichever estimator sizes it: who decides, the cold start, rounding, retries and limits.

Every answer's `Why` has the rule and the figures it was computed from, so that anyone can compute it again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

from headway.model.outcome import Ending, Outcome, Quality
from headway.model.records import Figure, Why
from headway.model.resources import Resources, describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimators.base import Attempt, Estimator
from headway.sizing.observing import ABSURD, SHORTEST_S, input_bytes, run_s

# The steps in which memory and disk are given where a failure has a price.
_LARGEST_STEP = 64e6
_STEPS = 64  # of a node, and of an amount


class ResourceRules(ABC):
    """Hints, cold start, rounding, retries and limits of one resource."""

    resource: str
    small_start: float = 1.0  # for estimators that begin with little

    def __init__(self) -> None:
        self.show = partial(describe, self.resource)  # an amount as people write it

    # --- who decides ---

    def is_estimated(self, task: Task, estimator: Estimator) -> bool:
        """Whether an estimator may say how much `task` gets."""
        return True

    def is_stated(self, task: Task, context: Context, estimator: Estimator) -> bool:
        """Whether the workflow states an amount that counts more than any estimate."""
        return False

    def is_compressible(self, context: Context) -> bool:
        """Whether too little of it only slows a task down."""
        return False

    # --- what to give ---

    def cold_start(self, policy: str, task: Task, context: Context) -> Prediction | CannotFit:
        """Give what nothing was learned for: the user's hint, else the context's start, else a fair share."""
        limit = context.limits[self.resource]
        hint = task.hints.get(self.resource)
        if hint is not None:
            why = Why(policy, "hint", {"hint": hint, "limit": limit}, f"the workflow asks for {self.show(hint)}")
            if limit is not None and hint > limit:
                return CannotFit(self.resource, hint, limit, why, reason="hint")
            return Prediction(hint, why)
        if self.resource in context.start:
            start = context.start[self.resource]
            text = "nothing is known yet: what everything starts with"
            why = Why(policy, "start", {"start": start, "limit": limit}, text)
            return Prediction(start if limit is None else min(start, limit), why)
        return self.fair_share(policy, task, context)

    @abstractmethod
    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        """Give what a task gets that states nothing and of which nothing is known."""

    def retry(
        self, policy: str, failures: Sequence[float], limits: Resources, at_least: float = 0.0
    ) -> Prediction | CannotFit:
        """Give twice what ran out, or `at_least` if that is more, up to the limit; at the limit nothing fits."""
        limit = limits[self.resource]
        given = failures[-1]
        figures: dict[str, Figure] = {"given": given, "at_least": at_least, "limit": limit}
        if limit is not None and given >= limit:
            why = Why(policy, "at-the-limit", figures, f"{self.show(given)} ran out, and there is no more here")
            return CannotFit(self.resource, given, limit, why)
        wanted = max(2 * given, at_least)
        value = self.whole(wanted if limit is None else min(wanted, limit))
        return Prediction(value, Why(policy, "doubled", figures, f"{self.show(given)} ran out: twice that"))

    @abstractmethod
    def rounded(self, value: float, given: float, step: float, context: Context) -> float:
        """Round an estimate; the result stays above `given`, which ran out (0: nothing did)."""

    def coarse(self, value: float, context: Context) -> float:
        """Round an estimate up where a finer one is not worth a failure."""
        return value

    def rounding(self, step: float, context: Context) -> dict[str, Figure]:
        """Return the figures that say how `rounded` rounds, where that depends on the context."""
        return {}

    def whole(self, value: float) -> float:
        """Round down to an amount that this resource can be given in."""
        return value

    # --- what an outcome teaches ---

    def attempt(self, task: Task, outcome: Outcome) -> Attempt:
        """Return what an estimator of this resource learns from an outcome."""
        peak = self.peak(outcome)
        exhausted = self._exhausted_amount(outcome) if peak is None else None
        return Attempt(peak, run_s(outcome), input_bytes(task), task.id, task.hints.get(self.resource), exhausted)

    def _exhausted_amount(self, outcome: Outcome) -> float | None:
        """Return what an attempt had used when it ran out: it needed at least this much."""
        bound = outcome.usage.peak(self.resource) if outcome.ending.exhausted == self.resource else None
        return bound.value if bound is not None and 0 < bound.value < ABSURD else None

    def peak(self, outcome: Outcome) -> float | None:
        """Return the peak of a success; None after a failure, and where the figure is missing, a bound or absurd."""
        peak = outcome.usage.peak(self.resource)
        if outcome.ending is not Ending.SUCCESS or peak is None or peak.quality is Quality.LOWER_BOUND:
            return None
        return peak.value if 0 < peak.value < ABSURD else None


class ByteRules(ResourceRules):
    """What memory and disk have in common: whole bytes, and a fair share that goes with the task's cores."""

    small_start = 1e9

    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        limit, machine_cores = context.limits[self.resource], context.limits.cores
        cores = min(task.hints.get("cores", 1.0), machine_cores)
        figures: dict[str, Figure] = {"limit": limit, "machine_cores": machine_cores, "task_cores": cores}
        text = f"nothing is known yet: the share of the machine that goes with {describe('cores', cores)}"
        value = self.whole((limit or 0) * cores / machine_cores) if machine_cores else 0
        return Prediction(value, Why(policy, "share-of-machine", figures, text))

    def rounded(self, value: float, given: float, step: float, context: Context) -> float:
        """Round up: down would take a byte from the very task whose peak this is."""
        return step * max(1, math.ceil(value / step)) if step > 1 else max(1, math.ceil(value))

    def coarse(self, value: float, context: Context) -> float:
        """Round up so far that no task is stopped for a few megabytes."""
        least = min(_LARGEST_STEP, (context.limits[self.resource] or math.inf) / _STEPS)
        step = min(least, value / _STEPS)
        return max(least, step * math.ceil(value / step)) if step > 1 else value

    def whole(self, value: float) -> float:
        return math.floor(value)


class MemoryRules(ByteRules):
    """Every task holds memory, and how much is learned whatever the workflow states."""

    resource = "memory_bytes"


class DiskRules(ByteRules):
    """Only a task with a directory of its own holds disk."""

    resource = "disk_bytes"

    def is_estimated(self, task: Task, estimator: Estimator) -> bool:
        return task.isolated or estimator.overrules

    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        if not task.isolated:
            text = "it runs in the workflow's directory, not in one of its own"
            return Prediction(0, Why(policy, "in-place", {}, text))
        return super().fair_share(policy, task, context)


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


class WalltimeRules(ResourceRules):
    """Time is never cut to what was seen: a kill would lose everything and save nothing.

    No estimator of peaks is asked. `WalltimeFromQuantiles` asks a batch queue for less than its limit where the runtime
    model knows enough.
    """

    resource = "walltime_s"

    def is_estimated(self, task: Task, estimator: Estimator) -> bool:
        return False

    def cold_start(self, policy: str, task: Task, context: Context) -> Prediction:
        """Give all there is: the workflow's hint says how long the task takes, not when to stop it."""
        return self.fair_share(policy, task, context)

    def fair_share(self, policy: str, task: Task, context: Context) -> Prediction:
        limit = context.limits.walltime_s
        return Prediction(limit, Why(policy, "no-limit", {"limit": limit}, "nothing says how long it may take"))

    def rounded(self, value: float, given: float, step: float, context: Context) -> float:
        return value


CORES, MEMORY, DISK, WALLTIME = CoresRules(), MemoryRules(), DiskRules(), WalltimeRules()
RULES: dict[str, ResourceRules] = {rules.resource: rules for rules in (CORES, MEMORY, DISK, WALLTIME)}
