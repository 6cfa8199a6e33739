"""`max-seen`: the greatest peak so far, rounded up."""

from __future__ import annotations

from typing import Literal

from headway.model.errors import InputError
from headway.model.records import Figure
from headway.sizing.estimators.base import Estimate, Query, Start, earlier
from headway.sizing.estimators.seen_maximum import SeenMaximum

STEP_BYTES = 250_000_000


class MaxSeen(SeenMaximum):
    """The greatest peak so far, rounded up; before there is one, the user's hint or a share of the machine.

    The next task nearly always needs a little more or less than the last. Rounding up absorbs that; without it, every
    new maximum would be a failure. Work Queue sizes tasks this way (Phung and Thain 2024, section V-C). There, hints do
    not count, and the first tasks and all that failed get the whole machine: `first="whole-machine"` does the same.

    `step`: maxima are rounded up to multiples of this; 250 MB for memory and disk, one core for cores.

    >>> from headway.model.resources import Resources
    >>> from headway.model.task import Task
    >>> from headway.sizing.base import Context
    >>> from headway.sizing.estimated import EstimatedSizer
    >>> sizer = EstimatedSizer(MaxSeen(), "memory_bytes")
    >>> sizer.restore({"version": 1, "records": 2, "maximum": 260e6})
    >>> context = Context(Resources(cores=2, memory_bytes=8_000_000_000))
    >>> sizer.predict(Task("t", "align", "true"), [], context).value
    500000000
    """

    name = "max-seen"

    def __init__(self, step: int = STEP_BYTES, first: Literal["hint", "whole-machine"] = "hint") -> None:
        super().__init__()
        if step < 1:
            raise InputError(f"peaks cannot be rounded up to multiples of {step}", todo="use 1 for no rounding")
        self.step = step
        self.climbs = first == "whole-machine"

    def estimate(self, query: Query) -> Estimate | None:
        if self.climbs and (query.failures or not self._records):
            text = f"{query.show(query.given)} ran out" if query.failures else "nothing is known yet"
            return Estimate(Start.WHOLE_MACHINE, "whole-machine", {}, f"{text}: the whole machine")
        if not self._records:
            return None
        figures: dict[str, Figure] = {"maximum": self._maximum, "records": self._records, "bucket": self.step}
        text = f"the most that {earlier(self._records)} used is {query.show(self._maximum)}"
        return Estimate(self._maximum, "max-seen", figures, text)
