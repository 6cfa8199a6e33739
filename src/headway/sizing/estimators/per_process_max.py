"""`per-process-max`: what Seqera's resource optimisation does: each process gets the most it was seen to use."""

from __future__ import annotations

from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.estimators.seen_maximum import SeenMaximum
from headway.sizing.learning import Learned, LearningSizer, earlier


class PerProcessMax(SeenMaximum, LearningSizer):
    """The greatest peak of the category so far, as it is; before there is one, what the workflow asks for.

    A rule of thumb in use today, here for comparison. Without rounding or reserve, every new maximum is a failure.

    >>> sizer = PerProcessMax("memory_bytes")
    >>> sizer.restore({"version": 1, "records": 2, "maximum": 260e6})
    >>> sizer.learned(Task("t", "t", "true")).value
    260000000.0
    """

    name = "per-process-max"

    def learned(self, task: Task) -> Learned | None:
        if not self._records:
            return None
        figures: dict[str, Figure] = {"maximum": self._maximum, "records": self._records}
        text = f"the most that {earlier(self._records)} used is {describe(self.resource, self._maximum)}"
        return Learned(self._maximum, "maximum", figures, text)
