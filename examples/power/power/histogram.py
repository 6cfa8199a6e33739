"""Histograms: they add up, and give quantiles that are wrong by less than one bin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from power.period import Array

BINS = 4096


@dataclass(frozen=True)
class Scale:
    """Where the first bin begins and how wide one is. What lies beyond an end counts in the last bin there."""

    low: float
    width: float

    def count(self, values: Array) -> Array:
        known = values[np.isfinite(values)]
        where = np.clip(np.floor((known - self.low) / self.width), 0, BINS - 1).astype(int)
        return np.bincount(where, minlength=BINS)

    def quantile(self, counts: Array, share: float) -> float:
        """Within one bin of the smallest value that at least ``share`` of all are not above."""
        rank = max(1, int(np.ceil(share * counts.sum())))
        return self.low + self.width * (int(np.searchsorted(np.cumsum(counts), rank)) + 0.5)

    def valley(self, counts: Array) -> float:
        """The value half-way between the means of the two groups that it divides the readings into.

        T. Ridler, S. Calvard, "Picture thresholding using an iterative selection method" (1978).
        """
        middles = self.low + self.width * (np.arange(BINS) + 0.5)
        seen = middles[counts > 0]
        threshold = (seen[0] + seen[-1]) / 2
        for _ in range(100):
            above = middles > threshold
            groups = [np.average(middles[side], weights=counts[side]) for side in (~above, above)]
            if sum(groups) / 2 == threshold:
                break
            threshold = sum(groups) / 2
        return float(threshold)


SCALES = {
    "active": Scale(0.0, 4.0),
    "reactive": Scale(-500.0, 1.0),
    "voltage": Scale(215.0, 0.01),
    "current": Scale(0.0, 0.02),
    "kitchen": Scale(0.0, 1.0),
    "utility": Scale(0.0, 0.1),
    "climate": Scale(0.0, 1.0),
}
