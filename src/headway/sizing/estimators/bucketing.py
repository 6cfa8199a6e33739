"""`Bucketing`: what 001's two algorithms share. They differ in where they cut the sorted peaks into buckets."""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, PriorFree
from headway.sizing.estimators.sorted_records import SortedRecords
from headway.sizing.learning import Learned
from headway.sizing.observing import learned_peak
from headway.sizing.rules import after_failure

if TYPE_CHECKING:
    from headway.kernels.bucketing import Values, Whole

_GREATEST_TASK_NUMBER = 10**9  # what is longer is a date or a hash

Significance = Literal["completion-order", "task-number"]


class Buckets(Struct, frozen=True, gc=False):
    """From the lowest bucket up: its greatest value, and the significance of the records up to there."""

    representatives: list[float]
    significance_upto: list[int]


class Bucketing(PriorFree):
    """Draws a bucket of earlier peaks, by how many and how recent they are, and gives the greatest peak in it.

    After a failure it draws among the buckets above what ran out; above the last it doubles. Until there are 10
    records every task gets 1 core, 1 GB memory and 1 GB disk. A record counts as much as its `significance`: its
    place in the order of completion (so recent ones count more), or the last number in the task's name as in the
    paper's experiments, where tasks are numbered as they are submitted (001 sections IV-A and V-A).
    """

    def __init__(self, resource: str, significance: Significance = "completion-order") -> None:
        super().__init__(resource)
        self._significance = significance
        self._records = SortedRecords("q")
        self._buckets: Buckets | None = None  # as of the records now; None: not computed yet

    @abstractmethod
    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        """The index of each bucket's last record, and the significance up to there."""

    def learned(self, given: float, context: Context) -> Learned | None:
        if len(self._records) < ENOUGH_RECORDS:
            return None
        buckets = self._buckets = self._buckets or self._cut()
        representatives, upto = buckets.representatives, buckets.significance_upto
        first = bisect_right(representatives, given)
        if first == len(representatives):
            return None
        below = upto[first - 1] if first else 0
        total = upto[-1] - below
        draw = context.uniform()
        chosen = min(bisect_right(upto, below + draw * total), len(upto) - 1)
        value = representatives[chosen]
        starts = ((upto[chosen - 1] if chosen else 0) - below) / total
        ends = (upto[chosen] - below) / total
        figures: dict[str, Figure] = {
            "representative": value,
            "bucket": chosen + 1,
            "buckets": len(upto),
            "records": len(self._records),
            "draw": draw,
            "drawn_from": starts,
            "drawn_to": ends,
        }
        if given:
            figures["given"] = given
        return Learned(value, "bucket", figures, self._told(given, value, len(upto), len(upto) - first, ends - starts))

    def _told(self, given: float, value: float, buckets: int, left: int, chance: float) -> str:
        up_to = describe(self.resource, value)
        if given:
            ran_out = f"{describe(self.resource, given)} ran out"
            if left == 1:
                return f"{ran_out}: the highest group of earlier ones used up to {up_to}"
            return f"{ran_out}: of {left} groups above, the one up to {up_to} was drawn ({chance:.0%} likely)"
        if buckets == 1:
            return f"{len(self._records)} earlier ones are one group, which used up to {up_to}"
        earlier = f"{len(self._records)} earlier ones fall into {buckets} groups by what they used"
        return f"{earlier}: the one up to {up_to} was drawn ({chance:.0%} likely)"

    def explore(self, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits)
        return self.small_start(len(self._records), context)

    def observe(self, task: Task, outcome: Outcome) -> None:
        peak = learned_peak(self.resource, outcome)
        if peak is not None:
            self._records.add(peak, self._significance_of(task))
            self._buckets = None

    def _significance_of(self, task: Task) -> int:
        if self._significance == "task-number":
            numbers = re.findall(r"\d+", task.id)
            if numbers and int(numbers[-1]) <= _GREATEST_TASK_NUMBER:
                return max(1, int(numbers[-1]))
        return len(self._records) + 1

    def _cut(self) -> Buckets:
        values, significances = self._records.arrays()
        ends, upto = self.cut(values, significances)
        return Buckets(values[ends].tolist(), upto.tolist())

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "values": self._records.values.tolist(),
            "significances": self._records.with_each.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._records.replace(state["values"], state["significances"])
        self._buckets = None
