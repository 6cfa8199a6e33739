"""`FirstAllocation`: what min-waste and max-throughput have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headway.model.records import Figure
from headway.sizing.estimators.base import Attempt, Estimate, Query
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, PriorFree, whole_machine
from headway.sizing.estimators.sorted_records import SortedRecords

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values

_SHORTEST_S = 0.001  # a run that took no time would make throughput infinite


class FirstAllocation(PriorFree):
    """First one of the earlier peaks, chosen by what failures would cost, then the greatest peak, then everything.

    Tovar et al. 2018, as Phung and Thain 2024 use it in section V. In the choice as in the retry, the maximum is the
    greatest peak so far, as in the runs behind their figures. Until there are 10 records every task gets the whole
    machine.
    """

    goal: str  # why a peak is chosen, as people read it

    def __init__(self) -> None:
        self._records = SortedRecords("d")  # with each peak the run time
        self._best: float | None = None  # for the records as they are; None: not computed yet

    @abstractmethod
    def best(self, values: Values, times_s: Values) -> int:
        """Return the index of the peak to give at first."""

    def estimate(self, query: Query) -> Estimate | None:
        records, given = len(self._records), query.given
        if records < ENOUGH_RECORDS or given >= self._records.values[-1]:
            return whole_machine(records, failed=bool(query.failures))
        greatest = self._records.values[-1]
        if given:
            figures: dict[str, Figure] = {"given": given, "greatest": greatest, "records": records}
            most = f"the most that {records} earlier ones used is {query.show(greatest)}"
            return Estimate(greatest, "greatest", figures, f"{query.show(given)} ran out: {most}")
        if self._best is None:
            values, times_s = self._records.arrays()
            self._best = float(values[self.best(values, times_s)])
        figures = {"best": self._best, "greatest": greatest, "records": records}
        text = f"of what {records} earlier ones used, {query.show(self._best)} {self.goal}"
        return Estimate(self._best, self.name, figures, text)

    def learn(self, attempt: Attempt) -> None:
        self._records.add(attempt.peak or 0.0, max(attempt.run_s, _SHORTEST_S))
        self._best = None

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "values": self._records.values.tolist(),
            "times_s": self._records.with_each.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._records.replace(state["values"], state["times_s"])
        self._best = None
