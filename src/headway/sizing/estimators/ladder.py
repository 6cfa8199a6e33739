"""`ladder`: the cheapest sequence of amounts to try, learned from every task, by experts that compete."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.kernels.ladder import MOST_RUNGS, price, rungs_of
from headway.model.outcome import Outcome
from headway.model.records import Figure, Why
from headway.model.resources import Resources, describe
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction, Sizer
from headway.sizing.observing import exhausted_amount, learned_peak, run_s
from headway.sizing.rules import after_failure, whole, without_record
from headway.sizing.runtime_model import RuntimeModel, walltime_request

REMEMBERED = 256  # records; what is older teaches nothing any more
SHORTEST_S = 1.0  # a task counts for at least a second: its start has a price, too
SPREAD = 0.1  # how far a next maximum may lie above the last, while little is known
FORGIVING = 0.97  # of what an expert cost, so much is held against it one task later
_NOT_KNOWN = math.nan
_FEWEST_HINTS = 3  # kinds of tasks that say what hints are worth
_LONGEST_MEAN = 50.0  # failures over which their share is averaged


class Expert(NamedTuple):
    """A way of weighing the records."""

    name: str
    forget: float = 0.0  # of a record's weight with each newer one
    bandwidth: float = 0.0  # of the logarithm of input sizes; 0: inputs do not matter


EXPERTS = (
    Expert("all records"),
    Expert("recent records", forget=1 - 0.5 ** (1 / 30)),
    Expert("records with like inputs", bandwidth=0.3),
    Expert("records with very like inputs", bandwidth=0.1),
)


class Ladder(Sizer):
    """The sequence of amounts that costs least on average, failures included; tasks climb it until one is enough.

    The distribution of peaks is weighed by run time; beyond its maximum lies as much mass as one more record, so that
    little knowledge gives room and much gives none. Several experts look at the records: all of them, the recent ones,
    those whose inputs were about as large. Each is charged, task by task, what its ladder would have cost, and the
    cheapest is asked. What a failure costs is learned: the share of a run time after which attempts fail.

    Before there is a record, the user's hint is taken for what such hints were worth to other tasks; without a hint,
    what everything starts with. Cores that are only slower when there are too few are rounded to whole ones.
    """

    name = "ladder"

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._unit = 1.0 if resource.endswith("_bytes") else 1e-6  # so that all amounts are well above 1
        self._log_peaks: NDArray[np.float64] = np.zeros(16)
        self._run_s: NDArray[np.float64] = np.zeros(16)
        self._log_inputs: NDArray[np.float64] = np.zeros(16)
        self._count = 0
        self._inputs_known = False  # of any record
        self._charged = [0.0] * len(EXPERTS)
        self._failed_after: dict[str, float] = {}  # seconds that attempts at a task lasted which ran out of this
        self._failed_share = 1.0  # of a run time that an attempt lasts which runs out of this
        self._failures = 0
        self._first_of_hint: float | None = None  # what the first task used, of what it was hinted to use
        self._times = RuntimeModel()
        self._rungs: NDArray[np.float64] = np.zeros(MOST_RUNGS)

    # --- what to give ---

    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if self.resource == "walltime_s":
            return self._long_enough(task, failures, context)
        if self.resource == "disk_bytes" and not task.isolated:
            return self._unlearned(task, failures, context)
        if self.resource == "cores" and "cores" not in context.kills:
            return self._enough_cores(task, failures, context)
        if not self._count:
            return self._from_hint(task, failures, context) or self._unlearned(task, failures, context)
        best = min(range(len(EXPERTS)), key=self._charged.__getitem__)
        count = self._climb(EXPERTS[best], task, self._lost_besides(context))
        figures: dict[str, Figure] = {
            "records": self._count,
            "experts": EXPERTS[best].name,
            "failed_share": self._failed_share,
        }
        because = f"costs least, going by {EXPERTS[best].name} of {self._count}"
        return self._next(self._rungs[:count] * self._unit, failures, context, figures, because)

    def _next(
        self,
        rungs: NDArray[np.float64],
        failures: Sequence[float],
        context: Context,
        figures: dict[str, Figure],
        because: str,
    ) -> Prediction | CannotFit:
        """The first rung above what ran out; twice as much where there is none."""
        limit = context.limits[self.resource]
        above = failures[-1] if failures else 0.0
        amounts = [whole(self.resource, math.ceil(rung) if self._unit == 1.0 else rung) for rung in rungs.tolist()]
        amounts = [amount for amount in amounts if amount > above]
        if not amounts or (limit is not None and above >= limit):
            return after_failure(self.name, self.resource, failures or [above], context.limits)
        value = amounts[0] if limit is None else min(amounts[0], limit)
        further = ", ".join(describe(self.resource, amount) for amount in amounts[1:4])
        about = figures | {"above": above, "rung": amounts[0], "then": further, "limit": limit}
        text = f"{describe(self.resource, amounts[0])} {because}"
        return Prediction(value, Why(self.name, "ladder", about, text), tuple(amounts[1:]))

    def _climb(self, expert: Expert, task: Task, lost_besides: float) -> int:
        size = self._count
        log_input = _log_input(task) if expert.bandwidth and self._inputs_known else _NOT_KNOWN
        return rungs_of(
            self._log_peaks[:size],
            self._run_s[:size],
            self._log_inputs[:size],
            expert.forget,
            log_input,
            expert.bandwidth,
            self._failed_share,
            lost_besides,
            SPREAD,
            self._rungs,
        )

    def _lost_besides(self, context: Context) -> float:
        """The other resources that a failed attempt holds, as if they were of this one: by their shares of a node."""
        return context.held * (context.limits[self.resource] or 0.0) / self._unit

    def _unlearned(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits)
        return without_record(self.name, self.resource, task, context)

    def _long_enough(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        """What to ask of a queue; where nothing limits time, nothing. After two time-outs all that is allowed: a kill
        loses everything."""
        limit = context.limits.walltime_s
        if limit is None or "walltime_s" in task.hints:
            return self._unlearned(task, failures, context)
        if len(failures) > 1 and failures[-1] < limit:
            why = Why(self.name, "whole-limit", {"limit": limit}, "it ran out of time twice: as long as is allowed")
            return Prediction(limit, why)
        if failures:
            return after_failure(self.name, self.resource, failures, context.limits)
        return walltime_request(self._times, task, Resources(cores=task.hints.get("cores", 1.0)), limit, self.name)

    def _enough_cores(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        """As many whole cores as nine in ten of the run time kept busy; what the user states is what programs use."""
        if not self._count or failures or "cores" in task.hints:
            return self._unlearned(task, failures, context)
        order = np.argsort(self._log_peaks[: self._count])
        passed = np.cumsum(self._run_s[: self._count][order])
        place = int(np.searchsorted(passed, 0.9 * passed[-1]))
        busy = math.exp(self._log_peaks[order[min(place, self._count - 1)]]) * self._unit
        limit = context.limits.cores
        figures: dict[str, Figure] = {"busy": busy, "records": self._count, "limit": limit}
        text = f"nine tenths of the time {describe('cores', round(busy, 2))} or fewer were busy"
        return Prediction(min(limit, max(1.0, math.floor(busy + 0.5))), Why(self.name, "busy-cores", figures, text))

    def _from_hint(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit | None:
        """A ladder of what other categories' first tasks used of their hints, with this task's hint on top."""
        hint = task.hints.get(self.resource)
        limit = context.limits[self.resource]
        shares = [
            other._first_of_hint
            for other in self.siblings.values()
            if isinstance(other, Ladder) and other._first_of_hint is not None
        ]
        if hint is None or len(shares) < _FEWEST_HINTS or (limit is not None and hint > limit):
            return None
        amounts = np.array([min(1.0, share) * hint / self._unit for share in shares])
        logs = np.log(np.maximum(amounts, 1.0))
        same = np.ones(len(logs))
        lost = self._lost_besides(context)
        count = rungs_of(logs, same, same, 0.0, _NOT_KNOWN, 0.0, self._failed_share, lost, SPREAD, self._rungs)
        rungs = self._rungs[:count] * self._unit
        rungs = np.append(rungs[rungs < hint], hint)
        figures: dict[str, Figure] = {"hint": hint, "others": len(shares)}
        because = (
            f"costs least, as {len(shares)} kinds of tasks used their hints; this is {describe(self.resource, hint)}"
        )
        return self._next(rungs, failures, context, figures, because)

    # --- what was learned ---

    def observe(self, task: Task, outcome: Outcome) -> None:
        if self.resource == "walltime_s":
            self._times.observe(task, outcome)
            return
        seconds = run_s(outcome)
        if exhausted_amount(self.resource, outcome) is not None:
            self._failed_after[task.id] = seconds
            if len(self._failed_after) > REMEMBERED:  # whoever failed so long ago has been given up
                del self._failed_after[next(iter(self._failed_after))]
            return
        lasted = self._failed_after.pop(task.id, None)
        peak = learned_peak(self.resource, outcome)
        if peak is None:
            return
        if lasted is not None and seconds > 0:
            self._failures += 1
            weight = 1.0 / min(self._failures + 2.0, _LONGEST_MEAN)  # begins as if two had failed at their very end
            self._failed_share += weight * (min(1.0, lasted / seconds) - self._failed_share)
        hint = task.hints.get(self.resource)
        if not self._count and hint:
            self._first_of_hint = peak / hint
        units = max(1.0, peak / self._unit)
        charged = max(SHORTEST_S, seconds)
        if self._count:
            self._charge(task, units, charged)
        self._remember(math.log(units), charged, _log_input(task))

    def _charge(self, task: Task, units: float, seconds: float) -> None:
        """Hold against each expert what its ladder would have cost this task."""
        for index, expert in enumerate(EXPERTS):
            count = self._climb(expert, task, 0.0)
            cost = seconds * price(self._rungs, count, units, self._failed_share, 0.0)
            self._charged[index] = FORGIVING * self._charged[index] + cost

    def _remember(self, log_peak: float, seconds: float, log_input: float) -> None:
        kept = (self._log_peaks, self._run_s, self._log_inputs)
        if self._count == REMEMBERED:
            for records in kept:
                records[: REMEMBERED - 1] = records[1:REMEMBERED]
            self._count -= 1
        elif self._count == len(self._log_peaks):
            self._log_peaks, self._run_s, self._log_inputs = (
                np.append(records, np.zeros(len(records))) for records in kept
            )
        self._log_peaks[self._count] = log_peak
        self._run_s[self._count] = seconds
        self._log_inputs[self._count] = log_input
        self._inputs_known = self._inputs_known or not math.isnan(log_input)
        self._count += 1

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "log_peaks": self._log_peaks[: self._count].tolist(),
            "run_s": self._run_s[: self._count].tolist(),
            "log_inputs": [None if math.isnan(size) else size for size in self._log_inputs[: self._count].tolist()],
            "charged": self._charged,
            "failed_after": self._failed_after,
            "failed_share": self._failed_share,
            "failures": self._failures,
            "first_of_hint": self._first_of_hint,
            "times": self._times.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._count = 0
        for log_peak, seconds, log_input in zip(state["log_peaks"], state["run_s"], state["log_inputs"], strict=True):
            self._remember(log_peak, seconds, _NOT_KNOWN if log_input is None else log_input)
        self._charged = list(state["charged"])
        self._failed_after = dict(state["failed_after"])
        self._failed_share = float(state["failed_share"])
        self._failures = int(state["failures"])
        self._first_of_hint = state["first_of_hint"]
        self._times.restore(state["times"])


def _log_input(task: Task) -> float:
    """The logarithm of the input's size, if there is one and somebody has looked."""
    return math.log(task.input_bytes) if task.input_bytes else _NOT_KNOWN
