"""Autocorrelation of the active power, from sums over pairs of minutes that add up over chunks."""

from __future__ import annotations

import numpy as np

from power.period import Array

LAGS_MIN = np.concatenate([[1, 2, 5, 10, 20, 30], np.arange(60, 1441, 60)])
NEAR_THE_MEAN_W = 1_500.0  # taken off first, so that products of deviations and not of sizes are summed


def sums(active: Array, ahead: int) -> Array:
    """For each lag: pairs, sums of the earlier, the later, their products and their squares.

    A pair belongs to the chunk in which its later minute lies; ``ahead`` minutes before that are the
    neighbour's.
    """
    there = np.isfinite(active)
    known = np.where(there, active - NEAR_THE_MEAN_W, 0.0)
    rows = []
    for lag in LAGS_MIN:
        first = max(ahead, lag)
        later, earlier = known[first:], known[first - lag : len(known) - lag]
        pair = there[first:] & there[first - lag : len(known) - lag]
        x, y = earlier * pair, later * pair
        rows.append([pair.sum(), x.sum(), y.sum(), x @ y, x @ x, y @ y])
    return np.array(rows, float)


def correlations(merged: Array) -> Array:
    """Pearson's correlation at each lag."""
    n, x, y, xy, xx, yy = merged.T
    return (xy - x * y / n) / np.sqrt((xx - x * x / n) * (yy - y * y / n))
