"""`min-waste`, `max-throughput`: the earlier peak that is best as a first allocation."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from headway.model.records import Figure
from headway.sizing.estimators.base import Attempt, Estimate, Query
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, SortedPeaks, whole_machine

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values

_SHORTEST_S = 0.001  # a run that took no time would make throughput infinite


class FirstAllocation(SortedPeaks):
    """First one of the earlier peaks, chosen by what failures would cost, then the greatest peak, then everything.

    Tovar et al. 2018, as Phung and Thain 2024 use it in section V. In the choice as in the retry, the maximum is the
    greatest peak so far, as in the runs behind their figures. Until there are 10 records every task gets the whole
    machine.
    """

    goal: str  # why a peak is chosen, as people read it
    beside, kind = "times_s", "d"
    _found: float | None

    @abstractmethod
    def best(self, values: Values, times_s: Values) -> int:
        """Return the index of the peak to give at first."""

    def estimate(self, query: Query) -> Estimate | None:
        records, given = len(self._values), query.given
        if records < ENOUGH_RECORDS or given >= self._values[-1]:
            return whole_machine(records, failed=bool(query.failures))
        greatest = self._values[-1]
        if given:
            figures: dict[str, Figure] = {"given": given, "greatest": greatest, "records": records}
            most = f"the most that {records} earlier ones used is {query.show(greatest)}"
            return Estimate(greatest, "greatest", figures, f"{query.show(given)} ran out: {most}")
        if self._found is None:
            values, times_s = self.arrays()
            self._found = float(values[self.best(values, times_s)])
        figures = {"best": self._found, "greatest": greatest, "records": records}
        text = f"of what {records} earlier ones used, {query.show(self._found)} {self.goal}"
        return Estimate(self._found, self.name, figures, text)

    def learn(self, attempt: Attempt) -> None:
        self.insert(attempt.peak or 0.0, max(attempt.run_s, _SHORTEST_S))


class MinWaste(FirstAllocation):
    """The earlier peak that wastes least as a first allocation, counting the retries of tasks that need more.

    Tovar et al. 2018; see `FirstAllocation`.

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


class MaxThroughput(FirstAllocation):
    """The earlier peak with which, as a first allocation, most tasks finish on the same machine in the same time.

    Tovar et al. 2018; see `FirstAllocation`.

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
