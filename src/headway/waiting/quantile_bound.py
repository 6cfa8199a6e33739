"""`quantile-bound`: upper bounds on quantiles of the wait, after QBETS."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from headway.model.records import Figure
from headway.waiting.base import Shape, WaitModel, geometry, is_wait

CONFIDENCE = 0.95  # that a bound is no less than the quantile
WATCHED = 0.95  # the quantile whose bound detects changes
FEWEST = 59  # the fewest waits with which that bound exists: 1 - 0.95^59 > 0.95
MOST = 1000  # waits that are kept of each cluster
# How many waits in a row beyond the 95% quantile indicate a change, by the correlation of neighbouring waits: as
# unlikely by chance (at most 1 in 5000, at any time) as three in a row among independent waits. Found by simulating
# autoregressive normal series, as Brevik, Nurmi and Wolski (2006) do for their method BMBP.
_TOO_MANY = ((0.05, 3), (0.35, 4), (0.45, 5), (0.55, 6), (0.65, 7), (0.75, 8), (0.85, 11), (0.925, 20), (1.01, 38))
_ALL_EQUAL = 1e-12  # a variance below this is rounding
_EVERYBODY = ""


class QuantileBound(WaitModel):
    """An upper bound on each quantile of the wait, with 95% confidence and without assuming a distribution.

    Nurmi, Brevik and Wolski 2007, QBETS (JSSPP). Of n waits the k-th shortest is above the quantile q if fewer than k
    of them are below it, which is binomial: the bound is the k-th wait for the least k with P(B(n, q) < k) >= 0.95.
    Only waits since the last change count: when too many in a row exceed the 95% bound, the history is cut to the last
    59 waits, the fewest with which that bound exists. `predict` returns the bound on the median.

    What we do differently: when too many waits in a row are below the lower bound of the 5% quantile, only these are
    kept; each geometry is a cluster, where the paper finds clusters in the log; a cluster that is too small for a
    quantile is answered by all jobs together, and these by their longest wait if they are too few.

    >>> model, shape = QuantileBound(), Shape(nodes=4, asked_s=3600)
    >>> for number in range(100):
    ...     model.observe(shape, {}, number * 37.0 % 100)
    >>> model.quantiles(shape, [0.5, 0.95])
    [58.0, 98.0]
    """

    name = "quantile-bound"

    def __init__(self) -> None:
        self._clusters: dict[str, _History] = {}

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """A bound for each share."""
        histories = [self._clusters[name] for name in (geometry(shape), _EVERYBODY) if name in self._clusters]
        answers, least_s = [0.0] * len(shares), 0.0
        for place in sorted(range(len(shares)), key=lambda place: shares[place]):
            bounds = (history.bound(shares[place]) for history in histories)
            bound_s = next((found for found in bounds if found is not None), None)
            if bound_s is None:
                bound_s = max((wait_s for history in histories for wait_s in history.waits_s), default=0.0)
            least_s = answers[place] = max(least_s, bound_s)  # another cluster may have answered the share before
        return answers

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Add a wait; a censored one only if it exceeds the 95% bound already."""
        if not is_wait(waited_s):
            return
        for name in (geometry(shape), _EVERYBODY):
            history = self._clusters.setdefault(name, _History())
            if not censored or waited_s > (history.bound(WATCHED) or math.inf):
                history.add(waited_s)

    def state(self) -> dict[str, Any]:
        """The waits of each cluster, oldest first, and how many of the last exceeded a bound."""
        return {"version": 1, "clusters": {name: history.state() for name, history in self._clusters.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._clusters = {name: _History(**found) for name, found in state["clusters"].items()}


class _History:
    """The waits of a cluster since its last change."""

    def __init__(self, waits_s: Sequence[float] = (), above: int = 0, below: int = 0) -> None:
        self.waits_s = list(waits_s)  # oldest first
        self._sorted = sorted(self.waits_s)
        self.above = above  # how many of the last waits in a row exceeded the 95% bound
        self.below = below  # how many were below the lower bound of the 5% quantile

    def state(self) -> dict[str, Any]:
        """The arguments of a history like this."""
        return {"waits_s": self.waits_s.copy(), "above": self.above, "below": self.below}

    def bound(self, share: float) -> float | None:
        """An upper bound on the quantile; None if there are too few waits."""
        rank = bound_rank(len(self._sorted), share)
        return None if rank is None else self._sorted[rank - 1]

    def add(self, waited_s: float) -> None:
        rank = bound_rank(len(self._sorted), WATCHED)
        if rank is not None:
            self.above = self.above + 1 if waited_s > self._sorted[rank - 1] else 0
            self.below = self.below + 1 if waited_s < self._sorted[-rank] else 0
        self.waits_s.append(waited_s)
        insort(self._sorted, waited_s)
        run = max(self.above, self.below)
        if run >= _TOO_MANY[0][1] and run >= too_many(self.waits_s[:-run]):
            self.waits_s = self.waits_s[-(FEWEST if self.above else run) :]
            self._sorted = sorted(self.waits_s)
            self.above = self.below = 0
        elif len(self.waits_s) > MOST:
            del self._sorted[bisect_left(self._sorted, self.waits_s.pop(0))]


@lru_cache(maxsize=100_000)
def bound_rank(count: int, share: float) -> int | None:
    """The k for which the k-th shortest of `count` waits bounds the quantile; None if even the longest does not.

    >>> bound_rank(59, 0.95), bound_rank(58, 0.95), bound_rank(5, 0.5), bound_rank(4, 0.5)
    (59, None, 5, None)
    """
    if share <= 0.0:
        return 1 if count else None
    if share >= 1.0 or share**count > 1.0 - CONFIDENCE:
        return None
    below = np.arange(count + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
    logs = factorials[count] - factorials - factorials[::-1]
    logs = logs + below * math.log(share) + (count - below) * math.log1p(-share)
    return min(count, int(np.searchsorted(np.cumsum(np.exp(logs)), CONFIDENCE)) + 1)


def too_many(waits_s: Sequence[float]) -> int:
    """How many waits in a row beyond a bound indicate a change, given the correlation of the waits before them."""
    logs = np.log1p(np.array(waits_s))
    away = logs - logs.mean() if logs.size else logs
    spread = float((away * away).sum())
    correlation = float((away[1:] * away[:-1]).sum()) / spread if spread > _ALL_EQUAL * logs.size else 0.0
    return next((run for least, run in _TOO_MANY if correlation < least), _TOO_MANY[-1][1])
