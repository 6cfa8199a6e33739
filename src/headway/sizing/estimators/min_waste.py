"""`min-waste`: the first allocation that is expected to waste least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.first_allocation import FirstAllocation

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values


class MinWaste(FirstAllocation):
    """The earlier peak that wastes least as a first allocation, counting the retries of tasks that need more.

    Tovar et al. 2018; see `FirstAllocation`.

    >>> from headway.sizing.estimators.base import Attempt, Query
    >>> estimator = MinWaste()
    >>> for peak in 5 * [2.0] + 4 * [5.0] + [10.0]:
    ...     estimator.learn(Attempt(peak, run_s=60))
    >>> estimator.estimate(Query()).value
    5.0
    """

    name = "min-waste"
    goal = "is expected to waste least as a first attempt"

    def best(self, values: Values, times_s: Values) -> int:
        from headway.kernels.first_allocation import least_waste

        return least_waste(values, times_s)
