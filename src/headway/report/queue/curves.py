"""`Steps`: a step function of time, such as the number of busy nodes or of waiting jobs."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.model.batch_log import Seconds

Values = NDArray[np.float64]


class Steps(Struct, frozen=True):
    """A value from each time until the next; 0 before the first time and from the last time on."""

    at_s: Seconds
    value: Values

    def peak(self) -> float:
        """The highest value, however short it lasts."""
        return float(self.value.max(initial=0.0))

    def total(self, from_s: float, to_s: float) -> float:
        """The integral (value x seconds) between two times."""
        before, after = self._summed(np.array([from_s, to_s]))
        return float(after - before)

    def means(self, borders_s: Seconds) -> Values:
        """The exact mean between each border and the next."""
        means: Values = np.diff(self._summed(borders_s)) / np.diff(borders_s)
        return means

    def peaks(self, borders_s: Seconds) -> Values:
        """The highest value between each border and the next."""
        if not len(self.at_s):
            return np.zeros(len(borders_s) - 1)
        at = np.searchsorted(self.at_s, borders_s, side="right")
        value = np.concatenate([[0.0], self.value])  # value[at]: the value at a border
        begins, ends = at[:-1], np.searchsorted(self.at_s, borders_s[1:], side="left")
        # Each piece is value[begin..end]; reduceat also reduces the gaps between pieces, which [::2] drops.
        pairs = np.stack([begins, ends + 1], axis=1).ravel()
        found: Values = np.maximum.reduceat(np.concatenate([value, [0.0]]), pairs)[::2]
        return found

    def _summed(self, at_s: Seconds) -> Values:
        """The integral from the beginning to each time; linear between steps, so interpolation is exact."""
        if not len(self.at_s):
            return np.zeros(len(at_s))
        sums = np.concatenate([[0.0], np.cumsum(self.value[:-1] * np.diff(self.at_s))])
        found: Values = np.interp(at_s, self.at_s, sums)
        return found


def steps(begins_s: Seconds, ends_s: Seconds, weights: NDArray[np.int64] | None = None) -> Steps:
    """Sum the weights (default: 1 each) of the intervals that have begun and not ended; empty ones do not count."""
    weight = np.ones(len(begins_s), np.int64) if weights is None else weights
    at_s = np.concatenate([begins_s, ends_s])
    change = np.concatenate([weight, -weight])
    order = np.argsort(at_s, kind="stable")
    at_s, value = at_s[order], np.cumsum(change[order])
    last = np.append(at_s[1:] != at_s[:-1], True) if len(at_s) else np.zeros(0, bool)
    return Steps(at_s[last], value[last].astype(np.float64))
