"""`max-seen`: the most that a task of this category ever used (paper 001, section V)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from headway.model.errors import InputError
from headway.model.records import Figure, Why
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimators.seen_maximum import SeenMaximum
from headway.sizing.learning import earlier
from headway.sizing.rules import after_failure, without_record

# Work Queue's histogram, as 001 section V-C describes it: a maximum is rounded up to a multiple of 250 MB. The next
# task nearly always needs a little more or less than the last; without rounding every new maximum would be a failure.
BUCKET_BYTES = 250_000_000


class MaxSeen(SeenMaximum):
    """The greatest peak so far, rounded up; before there is one, the user's hint or a share of the machine.

    Memory and disk are rounded up to 250 MB, or to what `bucket_bytes` says. Cores are rounded to whole ones (up, where
    too few end a task) and learned only where the workflow does not state them, since most programs use as many as they
    were told to. Time is never cut to what was seen: a kill would lose everything and save nothing.

    With `first="whole-machine"` it does as in 001's experiments: no hint counts, and the first tasks and any that
    failed get the whole machine.

    >>> sizer = MaxSeen("memory_bytes")
    >>> sizer.restore({"version": 1, "records": 2, "maximum": 260e6})
    >>> from headway.model.resources import Resources
    >>> context = Context(Resources(cores=2, memory_bytes=8_000_000_000))
    >>> sizer.predict(Task("t", "t", "true"), [], context).value
    500000000
    """

    name = "max-seen"

    def __init__(
        self, resource: str, bucket_bytes: int = BUCKET_BYTES, first: Literal["hint", "whole-machine"] = "hint"
    ) -> None:
        super().__init__(resource)
        if bucket_bytes < 1:
            raise InputError(f"peaks cannot be rounded up to multiples of {bucket_bytes}", todo="use 1 for no rounding")
        self._bucket = 1 if resource == "cores" else bucket_bytes
        self._first = first

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        limit = context.limits[self.resource]
        learned = self._rounded(context) if self._records else 0.0
        as_in_001 = self._first == "whole-machine" and (
            self.resource in ("cores", "memory_bytes") or (self.resource == "disk_bytes" and task.isolated)
        )
        if as_in_001 and (failures[-1] < (limit or 0) if failures else not self._records):
            text = f"{describe(self.resource, failures[-1])} ran out" if failures else "nothing is known yet"
            return Prediction(limit, Why(self.name, "whole-machine", {"limit": limit}, f"{text}: the whole machine"))
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits, at_least=learned)
        stated = self.resource == "cores" and "cores" in task.hints and not as_in_001
        if not self._records or stated or self.resource == "walltime_s":
            return without_record(self.name, self.resource, task, context)
        figures: dict[str, Figure] = {
            "maximum": self._maximum,
            "records": self._records,
            "bucket": self._bucket,
            "limit": limit,
        }
        if self.resource == "cores":
            figures["rounded"] = "up" if "cores" in context.kills else "to the nearest"
        text = f"the most that {earlier(self._records)} used is {describe(self.resource, self._maximum)}"
        value = learned if limit is None else min(learned, limit)
        return Prediction(value, Why(self.name, "max-seen", figures, text))

    def _rounded(self, context: Context) -> float:
        if self.resource == "cores" and "cores" not in context.kills:  # 1.1 cores is one busy core and a noisy clock
            return max(1.0, math.floor(self._maximum + 0.5))
        return self._bucket * max(1, math.ceil(self._maximum / self._bucket))
