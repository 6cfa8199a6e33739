"""The price of a failed attempt, set so that no more attempts fail than the user tolerates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, convert, structs

KNOWN = 5  # successes after which a category is known, and its failures count
_LEAST_TOLERANCE = 1e-4  # none at all would have an infinite price
_AIM = 0.8  # of what is tolerated: the price is always a little late
_START = 0.5  # of the factor that keeps the bound where peaks are distributed exponentially: most vary less
_LOWEST, _HIGHEST = -3.0, 11.0  # logarithms of the factors: from nearly free to nearly forbidden
_FEW = 20  # tasks that let a factor rise by its start again: a burst of failures among few tasks says little


class FailurePrice:
    """Learns, for one resource, what a failed attempt must cost so that a tolerated share of attempts fails.

    One price holds for all categories. A ladder that minimises its cost then accepts failures where they save most,
    in long tasks with large peaks, and hardly any in short ones: no other way of spending the same number of failures
    saves more. The price is a multiple of what a task costs on average, peak times run time. Each failure of a known
    category raises it e-fold, and each success lowers it by so much that it stands still at the tolerated share. Among
    few tasks it rises less.

    The first task of a category has a price of its own, which every failure raises and every success lowers: it stands
    still where twice the tolerated share of all attempts fails. This algorithm is Headway's own.

    >>> price = FailurePrice(0.03)
    >>> for _ in range(100):
    ...     price.succeeded(peak=2e9, run_s=10.0)
    >>> before = price.fine
    >>> price.failed()
    >>> round(price.fine / before, 3)
    2.718
    """

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance  # the share of attempts that may fail
        tolerance = max(_LEAST_TOLERANCE, tolerance)
        self._falls = _fall(tolerance), _fall(min(1.0, 2.0 * tolerance))
        self._start = math.log(_START / tolerance)
        self._learned = _Learned(self._start, log_factor_at_first=self._start)

    @property
    def fine(self) -> float:
        """What each failed attempt costs now besides what it held: an amount of the resource, times seconds."""
        return math.exp(self._learned.log_factor) * self._learned.mean_cost

    @property
    def fine_at_first(self) -> float:
        """The fine for a failure of a category's first task."""
        return math.exp(self._learned.log_factor_at_first) * self._learned.mean_cost

    def failed(self, known: bool = True) -> None:
        """Take note of a failed attempt at a task; `known`: of its category enough tasks had succeeded."""
        learned = self._learned
        highest = min(_HIGHEST, self._start + math.log(1.0 + learned.tasks / _FEW))
        learned.log_factor = min(highest, learned.log_factor + known)
        learned.log_factor_at_first = min(highest, learned.log_factor_at_first + 1.0)

    def succeeded(self, peak: float, run_s: float, known: bool = True) -> None:
        """Take note of a success."""
        learned = self._learned
        seconds = max(1.0, run_s)
        learned.tasks += 1
        learned.mean_cost += (peak * seconds - learned.mean_cost) / learned.tasks
        learned.log_factor = max(_LOWEST, learned.log_factor - known * self._falls[0])
        learned.log_factor_at_first = max(_LOWEST, learned.log_factor_at_first - self._falls[1])

    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON."""
        return structs.asdict(self._learned)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._learned = convert(state, _Learned)


def _fall(tolerance: float) -> float:
    """Return by how much a success lowers a factor's logarithm, if a failure raises it by 1."""
    aim = _AIM * tolerance
    return aim / (1.0 - aim)


class _Learned(Struct):
    log_factor: float
    tasks: int = 0
    mean_cost: float = 0.0  # peak times run time
    log_factor_at_first: float = 0.0
