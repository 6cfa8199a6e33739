"""`ladder`: the cheapest sequence of amounts to try, failures included."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.kernels.ladder import MOST_RUNGS, price, rungs_of
from headway.model.records import Figure
from headway.sizing.estimators import first_tasks
from headway.sizing.estimators.base import Attempt, Estimate, Estimator, Query

REMEMBERED = 256  # records; older ones are forgotten
SHORTEST_S = 1.0  # a task counts for at least a second, since starting it has a price, too
SPREAD = 0.1  # how far a next maximum may lie above the last, while little is known
FORGIVING = 0.97  # the part of an expert's cost that is still held against it one task later
_NOT_KNOWN = math.nan
_LONGEST_MEAN = 50.0  # failures over which the share of the run time that they lasted is averaged


class Expert(NamedTuple):
    """A way of weighing the records."""

    name: str
    forget: float = 0.0  # share of a record's weight that each newer record takes away
    bandwidth: float = 0.0  # of the logarithm of input sizes; 0: inputs do not matter


EXPERTS = (
    Expert("all records"),
    Expert("recent records", forget=1 - 0.5 ** (1 / 30)),
    Expert("records with like inputs", bandwidth=0.3),
    Expert("records with very like inputs", bandwidth=0.1),
)


class Ladder(Estimator):
    """The sequence of amounts that costs least on average, failures included; tasks climb it until one is enough.

    The distribution of peaks is weighted by run time. Beyond its maximum lies as much mass as one more record has, so
    that little knowledge gives room and much gives none. Four experts weigh the records: all of them, the recent ones,
    and those with similar input sizes. Each is charged, task by task, what its ladder would have cost, and the cheapest
    is asked. The price of a failure is learned: the share of its run time after which an attempt fails, and a fine that
    keeps failures as rare as the user wants them (`FailurePrice`).

    Before there is a record, the first tasks of other categories tell what to try (`first_tasks`). Only one task at a
    time tries this; the others get what the resource's rules say, usually the hint. Where too little only slows a task
    down, the estimate is what nine tenths of the run time needed. This algorithm is Headway's own.

    `unit`: amounts are learned in multiples of this; it must be well below the peaks. With 1, amounts are whole.

    >>> estimator = Ladder()
    >>> for peak in 30 * [1e9] + [8e9]:
    ...     estimator.learn(Attempt(peak, run_s=60))
    >>> round(estimator.estimate(Query(limit=64e9)).value / 1e9, 2)
    1.0
    >>> round(estimator.estimate(Query(failures=[1.1e9], limit=64e9)).value / 1e9, 2)
    8.54
    """

    name = "ladder"
    climbs = True
    step = 0.0
    learned = (
        "log_peaks", "run_s", "log_inputs", "charged", "failed_after", "failed_share", "failures", "first",
    )  # fmt: skip

    def __init__(self, unit: float = 1.0) -> None:
        self._unit = unit
        self._log_peaks = array("d")  # of the last records, the oldest first
        self._run_s = array("d")
        self._log_inputs = array("d")
        self._inputs_known = False  # of any record
        self._charged = [0.0] * len(EXPERTS)
        self._failed_after: dict[str, float] = {}  # by task: how many seconds its last attempt lasted that ran out
        self._failed_share = 1.0  # of its run time that an attempt lasts which runs out
        self._failures = 0
        self._first: list[float] = []  # the first task's peak, run time and hint (0: none)
        self._rungs: NDArray[np.float64] = np.zeros(MOST_RUNGS)

    # --- how much to give ---

    def estimate(self, query: Query) -> Estimate | None:
        if query.compressible:
            return self._mostly_enough(query)
        if not self._log_peaks:
            return self._from_others(query)
        best = min(range(len(EXPERTS)), key=self._charged.__getitem__)
        fine = self._fine(query.fine)
        count = self._climb(EXPERTS[best], _log(query.input_bytes), self._lost_besides(query), fine)
        figures: dict[str, Figure] = {
            "records": len(self._log_peaks),
            "experts": EXPERTS[best].name,
            "failed_share": self._failed_share,
            "fine": fine,
            "tolerated": query.tolerated,
        }
        because = f"costs least{_bound(query)}, going by {EXPERTS[best].name} of {len(self._log_peaks)}"
        return self._next(self._rungs[:count] * self._unit, query, figures, because)

    def _next(
        self, rungs: NDArray[np.float64], query: Query, figures: dict[str, Figure], because: str
    ) -> Estimate | None:
        """Return the first rung above what ran out; None above the last."""
        coarse: Iterable[float] = map(query.coarse, rungs.tolist()) if query.coarse else rungs.tolist()
        whole = dict.fromkeys(math.ceil(rung) if self._unit == 1.0 else rung for rung in coarse)
        amounts = [amount for amount in whole if amount > query.given]
        if not amounts:
            return None
        further = ", ".join(query.show(amount) for amount in amounts[1:4])
        about = figures | {"above": query.given, "rung": amounts[0], "then": further}
        return Estimate(amounts[0], "ladder", about, f"{query.show(amounts[0])} {because}")

    def _climb(self, expert: Expert, log_input: float, lost_besides: float, fine: float) -> int:
        """Compute an expert's ladder into `_rungs`; return how many rungs it has."""
        return rungs_of(
            np.frombuffer(self._log_peaks),
            np.frombuffer(self._run_s),
            np.frombuffer(self._log_inputs),
            expert.forget,
            log_input if expert.bandwidth and self._inputs_known else _NOT_KNOWN,
            expert.bandwidth,
            self._failed_share,
            lost_besides,
            SPREAD,
            fine,
            self._rungs,
        )

    def _fine(self, fine: float | None) -> float:
        return (fine or 0.0) / self._unit

    def _lost_besides(self, query: Query) -> float:
        """Return the other resources that a failed attempt holds, converted to this one by their shares of a node."""
        return query.held * (query.limit or 0.0) / self._unit

    def _mostly_enough(self, query: Query) -> Estimate | None:
        """Return what nine tenths of the run time needed."""
        records = len(self._log_peaks)
        if not records or query.failures:
            return None
        order = np.argsort(np.frombuffer(self._log_peaks))
        passed = np.cumsum(np.frombuffer(self._run_s)[order])
        place = int(np.searchsorted(passed, 0.9 * passed[-1]))
        busy = math.exp(self._log_peaks[order[min(place, records - 1)]]) * self._unit
        figures: dict[str, Figure] = {"busy": busy, "records": records}
        text = f"nine tenths of the time {query.show(round(busy, 2))} or fewer were busy"
        return Estimate(busy, "busy-cores", figures, text)

    def _from_others(self, query: Query) -> Estimate | None:
        """Climb a ladder of what other categories' first tasks used; None where a safe amount is better."""
        hint, unit = query.hint, self._unit
        priced = query.fine is not None
        if (priced and query.others and not query.failures) or (hint is None and not priced):
            return None
        firsts = [
            first_tasks.FirstTask(peak / unit, run_s, asked / unit)
            for peer in query.peers()
            if isinstance(peer, Ladder) and peer._first
            for peak, run_s, asked in [peer._first]
            if priced or asked
        ]
        over_limit = hint is not None and query.limit is not None and hint > query.limit
        if len(firsts) < first_tasks.FEWEST or over_limit:
            return None
        fine = self._fine(query.fine_at_first)
        terms = first_tasks.Terms(self._failed_share, self._lost_besides(query), SPREAD, fine)
        if priced or hint is None:
            rungs, scaled = first_tasks.climb(firsts, None if hint is None else hint / unit, terms)
        else:
            rungs, scaled = first_tasks.climb_shares(firsts, hint / unit, terms), True
        figures: dict[str, Figure] = {"hint": hint, "others": len(firsts), "fine": fine, "tolerated": query.tolerated}
        used = "the shares of their hints" if scaled else "the amounts"
        because = (
            f"costs least{_bound(query)}, going by {used} that the first tasks of {len(firsts)} other categories used"
        )
        return self._next(rungs * unit, query, figures, because)

    # --- what was learned ---

    def learn_without_peak(self, attempt: Attempt) -> None:
        if attempt.exhausted is None:
            self._failed_after.pop(attempt.task, None)
            return
        self._failed_after[attempt.task] = attempt.run_s
        if len(self._failed_after) > REMEMBERED:  # the task that failed longest ago has probably been given up
            del self._failed_after[next(iter(self._failed_after))]

    def learn(self, attempt: Attempt) -> None:
        peak, seconds = attempt.peak or 0.0, attempt.run_s
        lasted = self._failed_after.pop(attempt.task, None)
        if lasted is not None and seconds > 0:
            self._failures += 1
            weight = 1.0 / min(self._failures + 2.0, _LONGEST_MEAN)  # begins as if two had failed at their very end
            self._failed_share += weight * (min(1.0, lasted / seconds) - self._failed_share)
        units = max(1.0, peak / self._unit)
        charged = max(SHORTEST_S, seconds)
        if not self._log_peaks:
            self._first = [peak, charged, attempt.hint or 0.0]
        log_input = _log(attempt.input_bytes)
        if self._log_peaks:
            self._charge(log_input, units, charged, self._fine(attempt.fine))
        record = (self._log_peaks, math.log(units)), (self._run_s, charged), (self._log_inputs, log_input)
        for numbers, number in record:
            numbers.append(number)
            del numbers[:-REMEMBERED]
        self._inputs_known = self._inputs_known or not math.isnan(log_input)

    def _charge(self, log_input: float, units: float, seconds: float, fine: float) -> None:
        """Charge each expert what its ladder would have cost this task."""
        costs: dict[tuple[float, float], float] = {}  # experts that weigh alike cost the same
        for index, expert in enumerate(EXPERTS):
            key = (expert.forget, expert.bandwidth if self._inputs_known and not math.isnan(log_input) else 0.0)
            if key not in costs:
                count = self._climb(expert, log_input, 0.0, fine)
                costs[key] = seconds * price(self._rungs, count, units, self._failed_share, 0.0, fine / seconds)
            self._charged[index] = FORGIVING * self._charged[index] + costs[key]

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore({"first": []} | dict(state))
        self._inputs_known = not all(map(math.isnan, self._log_inputs))


def _log(input_bytes: int | None) -> float:
    """Return the logarithm of an input size; NaN where it is unknown or 0."""
    return math.log(input_bytes) if input_bytes else _NOT_KNOWN


def _bound(query: Query) -> str:
    """Say how many attempts may fail."""
    if query.tolerated >= 1:
        return ""
    return f" if at most {100 * query.tolerated:g}% of attempts may fail"
