"""`greedy-bucketing`, `exhaustive-bucketing`: two ways to cut the sorted peaks into buckets, of which one is drawn."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec import Struct

from headway.model.records import Figure
from headway.sizing.estimators.base import Attempt, Estimate, Query
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, SortedPeaks, small_start

if TYPE_CHECKING:
    from headway.kernels.bucketing import Values, Whole

MOST_BUCKETS = 10  # of exhaustive bucketing: the limit on k of section V-A


class Buckets(Struct, frozen=True, gc=False):
    """For each bucket from the lowest up: its greatest value, and the significance of all records up to there."""

    representatives: list[float]
    significance_upto: list[int]


class Bucketing(SortedPeaks):
    """Draws a bucket of earlier peaks, by how many and how recent they are, and gives the greatest peak in it.

    After a failure it draws among the buckets above what ran out; above the last it doubles. Until there are 10 records
    every task gets 1 core, 1 GB of memory and 1 GB of disk. Phung and Thain 2024, sections IV-A and V-A.
    """

    beside, kind = "significances", "q"
    _found: Buckets | None

    @abstractmethod
    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        """Return the index of each bucket's last record, and the significance up to there."""

    def estimate(self, query: Query) -> Estimate | None:
        records, given = len(self._values), query.given
        if records < ENOUGH_RECORDS:
            return None if query.failures else small_start(records)
        buckets = self._found = self._found or self._cut()
        representatives, upto = buckets.representatives, buckets.significance_upto
        first = bisect_right(representatives, given)
        if first == len(representatives):
            return None
        below = upto[first - 1] if first else 0
        total = upto[-1] - below
        draw = query.uniform()
        chosen = min(bisect_right(upto, below + draw * total), len(upto) - 1)
        value = representatives[chosen]
        starts = ((upto[chosen - 1] if chosen else 0) - below) / total
        ends = (upto[chosen] - below) / total
        figures: dict[str, Figure] = {
            "representative": value,
            "bucket": chosen + 1,
            "buckets": len(upto),
            "records": records,
            "draw": draw,
            "drawn_from": starts,
            "drawn_to": ends,
        }
        if given:
            figures["given"] = given
        return Estimate(value, "bucket", figures, self._told(query, value, len(upto), len(upto) - first, ends - starts))

    def _told(self, query: Query, value: float, buckets: int, left: int, chance: float) -> str:
        up_to = query.show(value)
        if query.given:
            ran_out = f"{query.show(query.given)} ran out"
            if left == 1:
                return f"{ran_out}: the highest group of earlier ones used up to {up_to}"
            return f"{ran_out}: of {left} groups above, the one up to {up_to} was drawn ({chance:.0%} likely)"
        if buckets == 1:
            return f"{len(self._values)} earlier ones are one group, which used up to {up_to}"
        earlier = f"{len(self._values)} earlier ones fall into {buckets} groups by what they used"
        return f"{earlier}: the one up to {up_to} was drawn ({chance:.0%} likely)"

    def learn(self, attempt: Attempt) -> None:
        self.insert(attempt.peak or 0.0, self.significance(attempt.task))

    def significance(self, task: str) -> int:
        """Return the weight of the next record: in the order of completion, so that recent records count more."""
        return len(self._values) + 1

    def thinned_beside(self) -> array[int]:
        # Halved, so that the next record counts a little more than the newest of these.
        return array("q", (max(1, significance // 2) for significance in super().thinned_beside()))

    def _cut(self) -> Buckets:
        values, significances = self.arrays()
        ends, upto = self.cut(values, significances)
        return Buckets(values[ends].tolist(), upto.tolist())


class GreedyBucketing(Bucketing):
    """Cuts earlier peaks in two where that wastes least, then each part again, and draws one of the groups.

    Phung and Thain 2024, section IV-B. The cuts are those of the paper; the kernel finds them faster.

    >>> estimator = GreedyBucketing()
    >>> for peak in 6 * [1.0] + 4 * [8.0]:
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query(failures=[1.0])).text
    '1 ran out: the highest group of earlier ones used up to 8'
    """

    name = "greedy-bucketing"

    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        from headway.kernels.bucketing import greedy_buckets

        return greedy_buckets(values, significances)


class ExhaustiveBucketing(Bucketing):
    """Cuts earlier peaks at even parts of the greatest, into as many groups as waste least, and draws one.

    Phung and Thain 2024, section IV-C: the one of their two algorithms that they recommend.

    >>> estimator = ExhaustiveBucketing()
    >>> for peak in 6 * [1.0] + 4 * [8.0]:
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query(failures=[1.0])).value
    8.0
    """

    name = "exhaustive-bucketing"

    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        from headway.kernels.bucketing import exhaustive_buckets

        return exhaustive_buckets(values, significances, MOST_BUCKETS)
