"""`min-waste`: the first allocation that is expected to hold least in vain (Tovar et al. 2018; 001, section V)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.sizing.estimators.first_allocation import FirstAllocation

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values


class MinWaste(FirstAllocation):
    """The earlier peak that as a first allocation wastes least, counting the retries of tasks that need more."""

    name = "min-waste"
    goal = "is expected to waste least as a first attempt"

    def best(self, values: Values, times_s: Values) -> int:
        from headway.kernels.first_allocation import least_waste

        return least_waste(values, times_s)
