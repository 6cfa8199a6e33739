"""`PriorFree`: the frame of 001's sizers. They know nothing but what the tasks of this run used."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from headway.model.records import Figure, Why
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.learning import Learned
from headway.sizing.rules import after_failure, without_record

# 001 section V-A: before that many records nothing is concluded from them.
ENOUGH_RECORDS = 10
# The same section: what the bucketing algorithms give until then.
SMALL_START = {"cores": 1.0, "memory_bytes": 1e9, "disk_bytes": 1e9}


class PriorFree(Sizer):
    """Asks the records; where they say nothing, explores. Hints for memory and disk are not looked at.

    Time is never cut to what was seen, a task without a directory of its own holds no disk, and where too few cores
    only slow a task down it gets the number that the workflow states, or a whole one: that is how its program was
    started.
    """

    @abstractmethod
    def learned(self, given: float, context: Context) -> Learned | None:
        """What the records say, above what was `given` and ran out (0: nothing did); None if they say nothing."""

    @abstractmethod
    def explore(self, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        """What to give where the records say nothing."""

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        limit = context.limits[self.resource]
        otherwise = self._decided_otherwise(task, context)
        if failures and (otherwise or (limit is not None and failures[-1] >= limit)):
            return after_failure(self.name, self.resource, failures, context.limits)
        if otherwise:
            return without_record(self.name, self.resource, task, context)
        given = failures[-1] if failures else 0.0
        found = self.learned(given, context)
        if found is None:
            return self.explore(failures, context)
        figures: dict[str, Figure] = found.figures | {"limit": limit}
        value = self._rounded(found.value, given, context)
        if limit is not None and value > limit:
            value = limit
        return Prediction(value, Why(self.name, found.rule, figures, found.text))

    def small_start(self, records: int, context: Context) -> Prediction:
        """What the bucketing algorithms explore with."""
        limit = context.limits[self.resource]
        start = context.start.get(self.resource, SMALL_START.get(self.resource, 1.0))
        text = f"it learns from {ENOUGH_RECORDS} records on and has {records}: what everything starts with"
        figures: dict[str, Figure] = {"start": start, "limit": limit, "records": records}
        return Prediction(start if limit is None else min(start, limit), Why(self.name, "start", figures, text))

    def whole_machine(self, records: int, failures: Sequence[float], context: Context) -> Prediction:
        """What 001's other algorithms explore with: dear, but it never fails where anything would do (section V-C)."""
        limit = context.limits[self.resource]
        text = f"it learns from {ENOUGH_RECORDS} records on and has {records}: the whole machine"
        if failures:
            text = "it needs more than any before it: the whole machine"
        figures: dict[str, Figure] = {"limit": limit, "records": records}
        return Prediction(limit, Why(self.name, "whole-machine", figures, text))

    def _decided_otherwise(self, task: Task, context: Context) -> bool:
        match self.resource:
            case "walltime_s":
                return True
            case "disk_bytes":
                return not task.isolated
            case "cores":
                return "cores" in task.hints and "cores" not in context.kills
        return False

    def _rounded(self, value: float, given: float, context: Context) -> float:
        if self.resource == "cores" and "cores" in context.kills:
            return value
        nearest = max(1.0, math.floor(value + 0.5))
        if self.resource == "cores" and nearest > given:
            return nearest  # 1.1 cores is one busy core and a noisy clock
        return math.ceil(value)  # down would take a byte from the very task that it was learned from
