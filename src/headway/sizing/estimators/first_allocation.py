"""`FirstAllocation`: what min-waste and max-throughput share (Tovar et al. 2018, as 001 section V uses them)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, PriorFree
from headway.sizing.estimators.sorted_records import SortedRecords
from headway.sizing.learning import Learned
from headway.sizing.observing import learned_peak, run_s

if TYPE_CHECKING:
    from headway.kernels.first_allocation import Values

_SHORTEST_S = 0.001  # a run that took no time would make throughput infinite


class FirstAllocation(PriorFree):
    """One of the earlier peaks at first, chosen with what a failure costs in mind, and one retry at the maximum.

    The maximum is the greatest peak so far, in the choice as in the retry: so it was in the runs behind 001's figures.
    A task that needs more than that is retried once more, with all that the machine has. Until there are 10 records
    every task gets the whole machine.
    """

    goal: str  # for people

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._records = SortedRecords("d")  # with each peak the run time
        self._best: float | None = None  # as of the records now; None: not computed yet

    @abstractmethod
    def best(self, values: Values, times_s: Values) -> int:
        """The index of the peak to give at first."""

    def learned(self, given: float, context: Context) -> Learned | None:
        records = len(self._records)
        if records < ENOUGH_RECORDS:
            return None
        greatest = self._records.values[-1]
        if given >= greatest:
            return None
        if given:
            figures: dict[str, Figure] = {"given": given, "greatest": greatest, "records": records}
            most = f"the most that {records} earlier ones used is {describe(self.resource, greatest)}"
            return Learned(greatest, "greatest", figures, f"{describe(self.resource, given)} ran out: {most}")
        if self._best is None:
            values, times_s = self._records.arrays()
            self._best = float(values[self.best(values, times_s)])
        figures = {"best": self._best, "greatest": greatest, "records": records}
        text = f"of what {records} earlier ones used, {describe(self.resource, self._best)} {self.goal}"
        return Learned(self._best, self.name, figures, text)

    def explore(self, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        return self.whole_machine(len(self._records), failures, context)

    def observe(self, task: Task, outcome: Outcome) -> None:
        peak = learned_peak(self.resource, outcome)
        if peak is not None:
            self._records.add(peak, max(run_s(outcome), _SHORTEST_S))
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
