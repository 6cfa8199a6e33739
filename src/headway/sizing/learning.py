"""`LearningSizer`: the frame of sizers that have one figure to offer as soon as their records suffice."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from msgspec import Struct

from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.rules import after_failure, without_record


class Learned(Struct, frozen=True):
    """What the records say a task will need, and how they say it."""

    value: float
    rule: str
    figures: dict[str, Figure]
    text: str


class LearningSizer(Sizer):
    """Gives what was learned, rounded up to whole bytes; before there is enough to learn from, the user's hint or what
    everything starts with; after a failure twice what ran out, or what was learned if that is more (004 section III-B).

    Cores are rounded to whole ones (up, where too few of them end a task) and learned only where the workflow does not
    state them, since most programs use as many as they were told to. Time is never cut to what was seen: a kill would
    lose everything and save nothing. A task without a directory of its own holds no disk.
    """

    @abstractmethod
    def learned(self, task: Task) -> Learned | None:
        """What the records say of `task`; None while they are too few."""

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        can_learn = self.resource != "walltime_s" and (self.resource != "disk_bytes" or task.isolated)
        learned = self.learned(task) if can_learn else None
        value = self._rounded(learned.value, context) if learned else 0.0
        if failures:
            return self.again(failures, context.limits, value)
        if learned is None or (self.resource == "cores" and "cores" in task.hints):
            return without_record(self.name, self.resource, task, context)
        limit = context.limits[self.resource]
        figures: dict[str, Figure] = learned.figures | {"limit": limit}
        if self.resource == "cores":
            figures["rounded"] = "up" if "cores" in context.kills else "to the nearest"
        why = Why(self.name, learned.rule, figures, learned.text)
        return Prediction(value if limit is None else min(value, limit), why)

    def again(self, failures: Sequence[float], limits: Resources, learned: float) -> Prediction | CannotFit:
        """What to give after the last of `failures` was not enough."""
        return after_failure(self.name, self.resource, failures, limits, at_least=learned)

    def _rounded(self, value: float, context: Context) -> float:
        if self.resource == "cores" and "cores" not in context.kills:
            return max(1.0, math.floor(value + 0.5))  # 1.1 cores is one busy core and a noisy clock
        return max(1.0, math.ceil(value))


def earlier(records: int) -> str:
    """For people: whose figures these are."""
    return f"{records} earlier ones" if records > 1 else "the one before"
