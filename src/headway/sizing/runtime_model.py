"""`RuntimeModel`: the distribution of a category's run times.

    log run time  =  a  +  b · log(1 + input bytes)  -  s · log(cores)  +  residual

**The line** is fitted by ridge regression to the last `KEPT` successes; older ones count less (`HALF_LIFE`). The ridge
draws `b` and `s` to 0 by as much as the run times spread, so that an input size that explains nothing changes nothing.
They stay in [0, 2] and [0, 1]: more input does not make a task faster, and n cores make it at most n times as fast. A
task whose input size is unknown counts as one of average size.

**The residuals** have the distribution of Kaplan and Meier. A success is an event; a failed attempt says only that the
run time is longer than the attempt lasted (a right-censored record): it counts among those at risk up to there. With w
the weights and R(x) the weight of all records whose residual is at least x, plus 1,

    S(x)  =  product over successes i with residual <= x of  (1 - w_i / R(x_i)).

Between two successes S falls in a straight line. The 1 stands for the next task, which may take longer than any yet:
after n records of weight 1, a mass of 1/(n + 1) is left beyond the greatest residual m. That tail is exponential in the
logarithm, S(x) = S(m) · exp(-(x - m) / spread), where the spread is the standard deviation of the successes around the
line, with one more record that is off by a factor of two: it pads when little is known, and stops when much is.

The same records in the same order give the same answers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.sizing.observing import ABSURD, input_bytes, run_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 400
HALF_LIFE = 100  # records
SHORTEST_S = 0.001  # run times are logarithms: none is 0
SPREAD_UNKNOWN = math.log(2)
STEEPEST_BY_INPUT, STEEPEST_BY_CORES = 2.0, 1.0
ALIKE = 2e-6  # run times whose logarithms differ by less are equal
NOTHING_RAN = frozenset({Ending.LAUNCH_FAILED, Ending.MISSING_INPUT})


class Record(Struct, frozen=True, array_like=True, gc=False):
    """One attempt, in logarithms; not `ended`: it failed and would have taken longer."""

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
    residuals: Sequence[float]  # of the successes, ascending; the last is the greatest of all records
    survival: Sequence[float]  # the probability of a greater residual, for each of them

    def quantile(self, task: Task, q: float) -> float:
        """Return the seconds that a run of `task` does not exceed with probability `q`."""
        return math.exp(min(self.centre(*_features(task)) + self.residual_at(q), math.log(ABSURD)))

    def longest(self, task: Task) -> float:
        """Return the seconds that the longest record would have taken with the input and cores of `task`."""
        return math.exp(min(self.centre(*_features(task)) + self.residuals[-1], math.log(ABSURD)))

    def level_of(self, task: Task, seconds: float) -> float:
        """Return the share of runs of `task` that are shorter than `seconds`; of those as long, half are counted."""
        residual = math.log(max(SHORTEST_S, seconds)) - self.centre(*_features(task))
        first, after = bisect_left(self.residuals, residual - ALIKE), bisect_right(self.residuals, residual + ALIKE)
        if first == len(self.residuals):
            return 1.0 - self.survival[-1] * math.exp((self.residuals[-1] - residual) / self.spread)
        longer = 1.0 if first == 0 else self.survival[first - 1]
        if first < after:
            return 1.0 - min(self.survival[first], (longer + self.survival[after - 1]) / 2)
        if first == 0:
            return 1.0 - (longer + self.survival[0]) / 2
        low, high = self.residuals[first - 1 : first + 1]
        return 1.0 - longer - (self.survival[first] - longer) * (residual - low) / (high - low)

    def centre(self, size: float | None, cores: float) -> float:
        """Return the logarithm of the run time without the residual."""
        from_mean = 0.0 if size is None else size - self.mean_size
        return self.level + self.by_input * from_mean - self.by_cores * (cores - self.mean_cores)

    def residual_at(self, quantile: float) -> float:
        """Return the residual that is exceeded with probability 1 - quantile."""
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
    >>> task = Task("t", "c", "true")
    >>> for seconds in (60, 90, 100):
    ...     model.observe(task, Outcome("t", 1, Ending.SUCCESS, 0.0, seconds))
    >>> round(model.quantile(task, 0.5))
    90
    """

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._fit: Fit | None = None

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt."""
        seconds = run_s(outcome)
        if outcome.ending in NOTHING_RAN or not seconds > 0:
            return
        size, cores = _features(task)
        ended = outcome.ending is Ending.SUCCESS
        self._records.append(Record(size, cores, math.log(max(SHORTEST_S, seconds)), ended))
        del self._records[:-KEPT]
        self._fit = None

    def quantile(self, task: Task, q: float) -> float | None:
        """Return the seconds that a run does not exceed with probability `q`; None where nothing is known."""
        fit = self.fit()
        return None if fit is None else fit.quantile(task, q)

    def fit(self) -> Fit | None:
        """Return the line and the survival curve of what was observed; None where nothing was."""
        if self._fit is None and self._records:
            self._fit = _fit(self._records)
        return self._fit

    def __len__(self) -> int:
        """The number of records that count."""
        return len(self._records)

    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON with a `version`."""
        return {"version": 1, "records": [list(structs.astuple(each)) for each in self._records]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._records = [Record(*each) for each in state["records"]]
        self._fit = None


def _features(task: Task) -> tuple[float | None, float]:
    """Return the logarithms of input size and of the cores that the task states.

    Part of a core counts as one: its speed depends on other tasks.
    """
    known = input_bytes(task)
    size = None if known is None else math.log1p(known)
    return size, math.log(max(1.0, task.hints.get("cores", 1.0)))


def _fit(records: Sequence[Record]) -> Fit:
    """Fit the line and the survival curve of the module's formulas."""
    import numpy

    age = numpy.arange(len(records) - 1, -1, -1, dtype=float)
    weights = 0.5 ** (age / HALF_LIFE)
    seconds = numpy.array([each.seconds for each in records])
    ended = numpy.array([each.ended for each in records])
    known = numpy.array([each.size is not None for each in records])
    sizes = numpy.array([each.size or 0.0 for each in records])
    cores = numpy.array([each.cores for each in records])
    # The line goes through the successes; where there is none, it is at the level of the failed attempts.
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
    """Fit two centred features by ridge regression, each slope within its bounds.

    Where the minimum lies outside of the bounds, the least cost is on one of the four edges.
    """
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
    """Return the residuals of the successes and the greatest of all, with the survival curve's values there.

    At equal residuals successes come before censored records.
    """
    import numpy

    order = numpy.lexsort((~ended, residuals))
    at_risk = numpy.cumsum(weights[order][::-1])[::-1] + 1.0
    survival = numpy.cumprod(1.0 - weights[order] * ended[order] / at_risk)
    shown = ended[order]
    shown[-1] = True
    return residuals[order][shown].tolist(), survival[shown].tolist()
