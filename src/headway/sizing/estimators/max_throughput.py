"""`max-throughput`: the first allocation that lets most tasks through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.first_allocation import FirstAllocation

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values


class MaxThroughput(FirstAllocation):
    """The earlier peak with which, as a first allocation, most tasks finish on the same machine in the same time.

    Tovar et al. 2018; see `FirstAllocation`.

    >>> from headway.sizing.estimators.base import Attempt, Query
    >>> estimator = MaxThroughput()
    >>> for peak in 5 * [2.0] + 4 * [5.0] + [10.0]:
    ...     estimator.learn(Attempt(peak, run_s=60))
    >>> estimator.estimate(Query()).value
    2.0
    """

    name = "max-throughput"
    goal = "is expected to let most tasks through as a first attempt"

    def best(self, values: Values, times_s: Values) -> int:
        from headway.kernels.first_allocation import most_throughput

        return most_throughput(values, times_s)
