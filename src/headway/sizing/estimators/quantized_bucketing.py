"""`quantized-bucketing`: first the lower half of earlier peaks, then all of them."""

from __future__ import annotations

from array import array
from bisect import insort

from headway.model.records import Figure
from headway.sizing.estimators.base import MOST_RECORDS, Attempt, Estimate, Query, thinned
from headway.sizing.estimators.prior_free import ENOUGH_RECORDS, PriorFree, whole_machine


class QuantizedBucketing(PriorFree):
    """The median of earlier peaks, then the greatest, then twice what ran out. Until there are 10 records, the whole
    machine.

    Phung et al. 2021, as Phung and Thain 2024 describe it in section V: two buckets, separated at the 50th quantile.
    They do not say that a bucket is drawn at random, as in their own algorithms, so here the lower bucket comes first
    and a task that fails moves up. That also explains their finding that this algorithm gives too little rather than
    too much (section V-D).

    >>> estimator = QuantizedBucketing()
    >>> for peak in range(1, 11):
    ...     estimator.learn(Attempt(peak))
    >>> [estimator.estimate(Query(failures)).value for failures in ([], [5.0])]
    [5.0, 10.0]
    """

    name = "quantized-bucketing"
    learned = ("values",)

    def __init__(self) -> None:
        self._values = array("d")  # sorted

    def estimate(self, query: Query) -> Estimate | None:
        records, given = len(self._values), query.given
        if records < ENOUGH_RECORDS:
            return None if query.failures else whole_machine(records)
        lower, greatest = self._values[(records - 1) // 2], self._values[-1]
        figures: dict[str, Figure] = {"lower": lower, "greatest": greatest, "records": records, "given": given}
        if given < lower:
            text = f"the lower half of {records} earlier ones used up to {query.show(lower)}"
            return Estimate(lower, "lower-half", figures, text)
        if given < greatest:
            most = f"the most that {records} earlier ones used is {query.show(greatest)}"
            return Estimate(greatest, "greatest", figures, f"{query.show(given)} ran out: {most}")
        return None

    def learn(self, attempt: Attempt) -> None:
        insort(self._values, attempt.peak or 0.0)
        if len(self._values) > MOST_RECORDS:
            self._values = thinned(self._values)
