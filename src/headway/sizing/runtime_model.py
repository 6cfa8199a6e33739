"""`RuntimeModel`: how long a task of one category will take, as a distribution; and what time to ask of a queue.

    log run time  =  a  +  b · log(1 + input bytes)  -  s · log(cores)  +  residual

**The line** is fitted by ridge regression to the last `KEPT` successes, of which older ones count less (`HALF_LIFE`).
`b` and `s` are drawn to 0 by as much as the spread of the run times, so that an input size that explains nothing
changes nothing, and stay in [0, 2] and [0, 1]: more input does not make a task faster, and n cores at best n times.
A task whose input size is not known counts as one of average size.

**The residuals** have Kaplan and Meier's distribution. A success is an event; an attempt that failed or still runs says
only that the run time is longer than it lasted (a right-censored record): it counts among those at risk up to there and
then no more. With w the weights and R(x) the weight of all records whose residual is at least x, plus 1,

    S(x)  =  product over successes i with residual <= x of  (1 - w_i / R(x_i)).

Between two successes it falls in a straight line. The 1 stands for the next task, which may take longer than any yet:
after n records of weight 1, a mass of 1/(n + 1) is left beyond the greatest one, m. That tail is exponential in the
logarithm: S(x) = S(m) · exp(-(x - m) / spread), where the spread is the successes' standard deviation around the line,
with one more record that is off by a factor of two: it pads when little is known, and stops when much is.

No clock and no randomness: the same records in the same order give the same answers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from headway.model.outcome import Ending, Outcome
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.units import format_duration
from headway.sizing.base import Prediction
from headway.sizing.observing import ABSURD, run_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 400
HALF_LIFE = 100  # records
SHORTEST_S = 0.001  # nothing takes no time
SPREAD_UNKNOWN = math.log(2)
STEEPEST_BY_INPUT, STEEPEST_BY_CORES = 2.0, 1.0
# A task that never succeeds leaves its failures waiting for a run time to compare with: for so many tasks at most.
MOST_AWAITED = 200
NOTHING_RAN = frozenset({Ending.LAUNCH_FAILED, Ending.MISSING_INPUT})


class Record(Struct, frozen=True, array_like=True, gc=False):
    """One attempt, in logarithms; `ended` if it ran to its end, else it would have taken longer."""

    size: float | None
    cores: float
    seconds: float
    ended: bool


class Fit(Struct):
    """The line through the records, and the survival curve of what it leaves."""

    level: float
    by_input: float
    by_cores: float
    mean_size: float
    mean_cores: float
    spread: float
    residuals: Sequence[float]  # of the successes, ascending; at last the greatest of all records
    survival: Sequence[float]  # the probability of a greater one, for each of them

    def centre(self, size: float | None, cores: float) -> float:
        """The logarithm of the run time, but for the residual."""
        from_mean = 0.0 if size is None else size - self.mean_size
        return self.level + self.by_input * from_mean - self.by_cores * (cores - self.mean_cores)

    def beyond(self, residual: float) -> float:
        """The probability of a greater residual."""
        if residual >= self.residuals[-1]:
            return self.survival[-1] * math.exp((self.residuals[-1] - residual) / self.spread)
        place = bisect_right(self.residuals, residual)
        if place == 0:
            return 1.0
        (low, high), (before, after) = self.residuals[place - 1 : place + 1], self.survival[place - 1 : place + 1]
        return before + (after - before) * (residual - low) / (high - low)

    def residual_at(self, quantile: float) -> float:
        """The residual beyond which there is no more than 1 - quantile."""
        left = 1.0 - quantile
        if left < self.survival[-1]:
            return self.residuals[-1] + self.spread * math.log(self.survival[-1] / left)
        place = bisect_left(self.survival, -left, key=float.__neg__)
        if place == 0:
            return self.residuals[0]
        (low, high), (before, after) = self.residuals[place - 1 : place + 1], self.survival[place - 1 : place + 1]
        return low + (high - low) * (before - left) / (before - after)


class RuntimeModel:
    """Quantiles of run time for the tasks of one category, learned from outcomes.

    >>> model = RuntimeModel()
    >>> task, one_core = Task("t", "c", "true"), Resources(cores=1)
    >>> for seconds in (60, 90, 100):
    ...     model.observe(task, Outcome("t", 1, Ending.SUCCESS, 0.0, seconds), one_core)
    >>> round(model.quantile(task, one_core, 0.5))
    90
    """

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._running: dict[str, Record] = {}
        self._failed_after: dict[str, dict[str, float]] = {}  # by task: how long each resource lasted
        self._fractions: dict[str, list[float]] = {}  # by resource: weight, and weighted sum of fractions
        self._fit: Fit | None = None

    def observe(self, task: Task, outcome: Outcome, resources: Resources | None = None) -> None:
        """Learn from an attempt that ended; `resources` is what it had (without it: the cores that the task states)."""
        seconds = run_s(outcome)
        self._running.pop(task.id, None)
        self._fit = None
        if outcome.ending in NOTHING_RAN or not seconds > 0:
            return
        succeeded = outcome.ending is Ending.SUCCESS
        self._records.append(_record(task, resources, seconds, succeeded))
        del self._records[:-KEPT]
        exhausted = outcome.ending.exhausted
        if succeeded:
            for resource, lasted_s in self._failed_after.pop(task.id, {}).items():
                weight, total = self._fractions.get(resource, (0.0, 0.0))
                forget = 0.5 ** (1 / HALF_LIFE)
                self._fractions[resource] = [forget * weight + 1.0, forget * total + min(1.0, lasted_s / seconds)]
        elif exhausted:
            self._failed_after.setdefault(task.id, {})[exhausted] = seconds
            if len(self._failed_after) > MOST_AWAITED:
                del self._failed_after[next(iter(self._failed_after))]

    def still_running(self, task: Task, elapsed_s: float, resources: Resources | None = None) -> None:
        """The task's current attempt has taken so long and has not ended. Each call replaces the one before."""
        if 0 < elapsed_s < ABSURD:
            self._running[task.id] = _record(task, resources, elapsed_s, False)
            self._fit = None

    def quantile(self, task: Task, resources: Resources, q: float) -> float | None:
        """The seconds that a run does not exceed with probability `q`, between 0 and 1; None where nothing is known."""
        fit = self._fitted()
        if fit is None:
            return None
        centre = fit.centre(*_features(task, resources))
        return math.exp(min(centre + fit.residual_at(q), math.log(ABSURD)))

    def quantiles(
        self, task: Task, resources: Resources, which: Sequence[float] = (0.1, 0.5, 0.9, 0.99)
    ) -> dict[float, float]:
        """Several of them; none where nothing is known."""
        found = {q: self.quantile(task, resources, q) for q in which}
        return {q: seconds for q, seconds in found.items() if seconds is not None}

    def probability_of_finishing_within(
        self, task: Task, resources: Resources, seconds: float, elapsed_s: float = 0.0
    ) -> float:
        """That an attempt which has run for `elapsed_s` ends within `seconds` more; 0 where nothing is known: a plan
        must not count on it."""
        fit = self._fitted()
        if fit is None or seconds <= 0:
            return 0.0
        centre = fit.centre(*_features(task, resources))
        alive = fit.beyond(math.log(elapsed_s) - centre) if elapsed_s > 0 else 1.0
        after = fit.beyond(math.log(max(elapsed_s, 0.0) + seconds) - centre)
        return 1.0 - after / alive if alive > 0 else 1.0

    def time_to_failure_fraction(self, resource: str) -> float | None:
        """The mean share of its run time that a task had run when `resource` ran out, by tasks that succeeded later."""
        weight, total = self._fractions.get(resource, (0.0, 0.0))
        return total / weight if weight else None

    def state(self) -> dict[str, Any]:
        """What was learned, as JSON with a `version`."""
        return {
            "version": 1,
            "records": [list(structs.astuple(each)) for each in self._records],
            "running": {task: list(structs.astuple(each)) for task, each in self._running.items()},
            "failed_after": {task: dict(lasted) for task, lasted in self._failed_after.items()},
            "fractions": {resource: list(sums) for resource, sums in self._fractions.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where `state` left off."""
        self._records = [Record(*each) for each in state["records"]]
        self._running = {task: Record(*each) for task, each in state["running"].items()}
        self._failed_after = {task: dict(lasted) for task, lasted in state["failed_after"].items()}
        self._fractions = {resource: list(sums) for resource, sums in state["fractions"].items()}
        self._fit = None

    def _fitted(self) -> Fit | None:
        if self._fit is None and (self._records or self._running):
            self._fit = _fit(self._records, list(self._running.values()))
        return self._fit


# What to ask of a queue. Asking for too much costs little: unused time goes back, and the job only starts somewhat
# later because it fits into fewer gaps. Asking for too little loses the whole run. With the tail above, one more second
# saves P(longer) / (spread · t) runs; where a lost run is worth t seconds and the spread is about one half, 0.99 is
# right for those to whom one second of computing lost is worth fifty asked for in vain.
QUANTILE = 0.99
# Machines differ, and the records are of those that happened to be free; starting and stopping takes its time as well.
FACTOR, MORE_S = 1.1, 60.0
MINUTE_S = 60.0


def walltime_request(
    model: RuntimeModel, task: Task, resources: Resources, limit: float | None, policy: str = "runtime-model"
) -> Prediction:
    """The time to ask of a queue for `task`, in whole minutes: the 0.99 quantile, a tenth and a minute more, up to the
    limit. No limit (None) where there is none: nobody has to be asked. The whole limit where nothing is known."""
    if limit is None:
        return Prediction(None, Why(policy, "no-limit", {"limit": None}, "nothing limits how long it may take"))
    quantile_s = model.quantile(task, resources, QUANTILE)
    if quantile_s is None:
        why = Why(policy, "no-limit", {"limit": limit}, "nothing is known of how long it takes: as long as is allowed")
        return Prediction(limit, why)
    value = min(limit, MINUTE_S * math.ceil((FACTOR * quantile_s + MORE_S) / MINUTE_S))
    figures: dict[str, Figure] = {
        "quantile": QUANTILE,
        "quantile_s": quantile_s,
        "factor": FACTOR,
        "more_s": MORE_S,
        "limit": limit,
    }
    text = (
        f"99 of 100 such tasks should be done after {format_duration(quantile_s)}; a tenth and a minute more, "
        "since running out of time loses everything"
    )
    return Prediction(value, Why(policy, "runtime-quantile", figures, text))


def _record(task: Task, resources: Resources | None, seconds: float, ended: bool) -> Record:
    return Record(*_features(task, resources), math.log(max(SHORTEST_S, seconds)), ended)


def _features(task: Task, resources: Resources | None) -> tuple[float | None, float]:
    """Logarithms of input size and cores. A part of a core counts as one: how fast it is depends on the neighbours."""
    cores = resources.cores if resources else task.hints.get("cores", 1.0)
    size = None if task.input_bytes is None else math.log1p(max(0, task.input_bytes))
    return size, math.log(max(1.0, cores))


def _fit(records: Sequence[Record], running: Sequence[Record]) -> Fit:
    """The module's formulas, over all records; those still running are as new as can be."""
    import numpy

    every = [*records, *running]
    age = numpy.array([*range(len(records) - 1, -1, -1), *(0 for _ in running)], dtype=float)
    weights = 0.5 ** (age / HALF_LIFE)
    seconds = numpy.array([each.seconds for each in every])
    ended = numpy.array([each.ended for each in every])
    known = numpy.array([each.size is not None for each in every])
    sizes = numpy.array([each.size or 0.0 for each in every])
    cores = numpy.array([each.cores for each in every])
    # The line is through the successes; where there is none, at the level of what has lasted so long without one.
    basis = weights * ended if ended.any() else weights
    mean_size = float(basis[known] @ sizes[known] / basis[known].sum()) if basis[known].any() else 0.0
    mean_cores = float(basis @ cores / basis.sum())
    level = float(basis @ seconds / basis.sum())
    sizes = numpy.where(known, sizes - mean_size, 0.0)
    cores = cores - mean_cores
    by_input, by_cores = (0.0, 0.0)
    if ended.any():
        by_input, by_cores = _slopes(sizes, -cores, seconds - level, basis)
    residuals = seconds - (level + by_input * sizes - by_cores * cores)
    events = weights * ended
    spread = math.sqrt((SPREAD_UNKNOWN**2 + float(events @ residuals**2)) / (1.0 + float(events.sum())))
    steps, survival = _survival(residuals, weights, ended)
    return Fit(level, by_input, by_cores, mean_size, mean_cores, spread, steps, survival)


def _slopes(
    sizes: NDArray[Any], fewer_cores: NDArray[Any], seconds: NDArray[Any], weights: NDArray[Any]
) -> tuple[float, float]:
    """Ridge regression on two centred features, each slope within its bounds: where the minimum lies outside of them,
    the least cost is on one of the four edges."""
    penalty = (SPREAD_UNKNOWN**2 + float(weights @ seconds**2)) / (1.0 + float(weights.sum()))
    size_size, core_core = float(weights @ sizes**2) + penalty, float(weights @ fewer_cores**2) + penalty
    size_core = float(weights @ (sizes * fewer_cores))
    size_y, core_y = float(weights @ (sizes * seconds)), float(weights @ (fewer_cores * seconds))

    def cost(slopes: tuple[float, float]) -> float:
        b, s = slopes
        return b * (b * size_size - 2 * size_y) + s * (s * core_core - 2 * core_y) + 2 * b * s * size_core

    determinant = size_size * core_core - size_core**2
    b = (size_y * core_core - core_y * size_core) / determinant
    s = (core_y * size_size - size_y * size_core) / determinant
    if 0 <= b <= STEEPEST_BY_INPUT and 0 <= s <= STEEPEST_BY_CORES:
        return b, s
    edges = [
        (b, min(max((core_y - size_core * b) / core_core, 0.0), STEEPEST_BY_CORES)) for b in (0.0, STEEPEST_BY_INPUT)
    ]
    edges += [
        (min(max((size_y - size_core * s) / size_size, 0.0), STEEPEST_BY_INPUT), s) for s in (0.0, STEEPEST_BY_CORES)
    ]
    return min(edges, key=cost)


def _survival(residuals: NDArray[Any], weights: NDArray[Any], ended: NDArray[Any]) -> tuple[list[float], list[float]]:
    """The residuals of the successes, and at last the greatest of all, with the survival curve's values there. At equal
    residuals successes come before censored records."""
    import numpy

    order = numpy.lexsort((~ended, residuals))
    at_risk = numpy.cumsum(weights[order][::-1])[::-1] + 1.0
    survival = numpy.cumprod(1.0 - weights[order] * ended[order] / at_risk)
    shown = ended[order]
    shown[-1] = True
    return residuals[order][shown].tolist(), survival[shown].tolist()
