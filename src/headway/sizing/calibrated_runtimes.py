"""`CalibratedRuntimes`: quantiles of a category's run times that hold as often as they say."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import convert, structs, to_builtins

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.sizing.observing import run_s
from headway.sizing.runtime_model import HALF_LIFE, KEPT, Fit, RuntimeModel

PRIOR = 10.0  # records of a model that is right
HIGHEST = 1.0 - 1e-6  # level: no run time is impossible
DIGITS = 4  # of levels: the state is kept in a history
REFIT_AFTER = 0.05  # of the records: the model is fitted anew when so many are new


class CalibratedRuntimes:
    """A `RuntimeModel` whose levels are corrected by how often its quantiles have held so far.

    Each success has a level: the share of runs that the model, before it knew of this one, expected to be shorter. If
    the model is right, these levels are spread evenly over [0, 1]. If 0.9 of them are below 0.95, the 0.95 quantile of
    the model is what 90% of the runs do not exceed, and `quantile(task, 0.9)` returns that. So run times that grow, an
    input size that misleads and the model's own errors are made up for, whatever their distribution. Levels count less
    with age, as records do, and `PRIOR` levels that are spread evenly keep the first ones from counting too much. Only
    successes count: a failed attempt is followed by another, and both would count a long task several times.
    Conformal prediction corrects by the same ranks (V. Vovk et al., "Nonparametric predictive distributions based on
    conformal prediction", Machine Learning 108, 2019); the weights and the prior are Headway's own.

    >>> times = CalibratedRuntimes()
    >>> task = Task("t", "c", "true")
    >>> for second in range(200):  # each takes longer than all before
    ...     times.observe(task, Outcome("t", 1, Ending.SUCCESS, 0.0, 100.0 + second))
    >>> model = RuntimeModel()
    >>> for second in range(200):
    ...     model.observe(task, Outcome("t", 1, Ending.SUCCESS, 0.0, 100.0 + second))
    >>> round(model.quantile(task, 0.5)), round(times.quantile(task, 0.5))
    (232, 299)
    """

    def __init__(self) -> None:
        self._model = RuntimeModel()
        self._fit: Fit | None = None
        self._new = 0  # successes since the fit
        self._levels: list[float] = []
        self._counted = 0  # levels that the curve has
        self._curve: tuple[list[float], list[float]] = ([], [])

    def __len__(self) -> int:
        """The number of records that count."""
        return len(self._model)

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from a success."""
        seconds = run_s(outcome)
        if outcome.ending is not Ending.SUCCESS or not seconds > 0:
            return
        if self._fit is not None:
            self._levels.append(round(self._fit.level_of(task, seconds), DIGITS))
        self._model.observe(task, outcome)
        self._new += 1
        if self._new >= REFIT_AFTER * len(self._model):
            del self._levels[:-KEPT]
            self._fit, self._new, self._counted = _rounded(self._model.fit()), 0, len(self._levels)
            self._curve = _shares(self._levels)

    def quantile(self, task: Task, q: float) -> float | None:
        """Return the seconds that a run does not exceed with probability `q`; None where nothing is known."""
        return None if self._fit is None else self._fit.quantile(task, self.level(q))

    def longest(self, task: Task) -> float | None:
        """Return the seconds that the longest run so far would have taken for `task`; None where nothing is known."""
        return None if self._fit is None else self._fit.longest(task)

    def level(self, q: float) -> float:
        """Return the level of the model at which its quantile has held with probability `q`.

        That is x where (PRIOR · x + weight of the levels up to x) is q of the whole weight.
        """
        levels, shares = self._curve
        if not levels:
            return min(q, HIGHEST)
        whole = PRIOR + shares[-1] - PRIOR * levels[-1]
        place = bisect_left(shares, q * whole)
        before = shares[place - 1] - PRIOR * levels[place - 1] if place else 0.0
        most = levels[place] if place < len(levels) else HIGHEST
        return min(most, HIGHEST, (q * whole - before) / PRIOR)

    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON with a `version`."""
        return {
            "version": 1,
            "model": self._model.state(),
            "fit": to_builtins(self._fit),
            "new": self._new,
            "levels": list(self._levels),
            "counted": self._counted,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned, or `RuntimeModel.state` in earlier versions."""
        if "records" in state:
            self._model.restore(state)
            self._fit = _rounded(self._model.fit())
            return
        self._model.restore(state["model"])
        self._fit = convert(state["fit"], Fit | None)
        self._new, self._levels, self._counted = state["new"], list(state["levels"]), state["counted"]
        self._curve = _shares(self._levels[: self._counted])


def _rounded(fit: Fit | None) -> Fit | None:
    if fit is None:
        return None
    import numpy

    up = numpy.ceil(numpy.array(fit.residuals) * 1e6) / 1e6  # a quantile of equal run times is not below them
    return structs.replace(fit, residuals=up.tolist(), survival=numpy.round(fit.survival, DIGITS).tolist())


def _shares(levels: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the levels in ascending order, and for each the weight of all that is at most as high."""
    import numpy

    found = numpy.array(levels)
    weights = 0.5 ** (numpy.arange(len(found) - 1, -1, -1) / HALF_LIFE)
    order = numpy.argsort(found, kind="stable")
    return found[order].tolist(), (PRIOR * found[order] + numpy.cumsum(weights[order])).tolist()
