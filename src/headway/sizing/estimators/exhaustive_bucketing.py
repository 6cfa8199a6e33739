"""`exhaustive-bucketing`: of ten ways to cut earlier peaks evenly, the one that wastes least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.bucketing import Bucketing, Significance

if TYPE_CHECKING:
    from headway.kernels.bucketing import Values, Whole


class ExhaustiveBucketing(Bucketing):
    """Cuts earlier peaks at even parts of the greatest, into as many groups as waste least, and draws one.

    Phung and Thain 2024, section IV-C: the one of their two algorithms that they recommend. `most_buckets` is the limit
    on k of section V-A.

    >>> from headway.sizing.estimators.base import Attempt, Query
    >>> estimator = ExhaustiveBucketing()
    >>> for peak in 6 * [1.0] + 4 * [8.0]:
    ...     estimator.learn(Attempt(peak))
    >>> estimator.estimate(Query(failures=[1.0])).value
    8.0
    """

    name = "exhaustive-bucketing"

    def __init__(self, significance: Significance = "completion-order", most_buckets: int = 10) -> None:
        super().__init__(significance)
        self._most_buckets = most_buckets

    def cut(self, values: Values, significances: Whole) -> tuple[Whole, Whole]:
        from headway.kernels.bucketing import exhaustive_buckets

        return exhaustive_buckets(values, significances, self._most_buckets)
