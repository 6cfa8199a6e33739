"""`greedy-bucketing`: cut earlier peaks in two where that wastes least, then each part again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.bucketing import Bucketing

if TYPE_CHECKING:
    from headway.kernels.bucketing import Values, Whole


class GreedyBucketing(Bucketing):
    """Cuts earlier peaks in two where that wastes least, then each part again, and draws one of the groups.

    Phung and Thain 2024, section IV-B. The cuts are those of the paper; the kernel finds them faster.

    >>> from headway.sizing.estimators.base import Attempt, Query
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
