"""`max-throughput`: the first allocation that lets most tasks through (Tovar et al. 2018; 001, section V)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.first_allocation import FirstAllocation

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values


class MaxThroughput(FirstAllocation):
    """The earlier peak with which, as a first allocation, most tasks finish in the same room and time."""

    name = "max-throughput"
    goal = "is expected to let most tasks through as a first attempt"

    def best(self, values: Values, times_s: Values) -> int:
        from headway.kernels.first_allocation import most_throughput

        return most_throughput(values, times_s)
