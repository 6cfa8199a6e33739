"""The scan: of all windows of a series, the one whose mean is the least likely to be noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from power.cores import map_blocks
from power.period import Array

SHORTEST_MIN, LONGEST_MIN = 10, 1440
MARGIN_MIN = 15  # left out on either side of a find: its edges are known only so well
BLOCK = 64  # window lengths at a time; fixed, so that the result does not depend on the number of cores


@dataclass(frozen=True)
class Window:
    """A window of a series and its mean in standard errors."""

    start: int
    minutes: int
    score: float


def least_score(minutes: int, alarms: float) -> float:
    """The score that noise reaches in any window of this many minutes with a probability of at most ``alarms``.

    Every window of every length counts as a test of its own (Bonferroni). They overlap, so the true probability
    is lower.
    """
    tests = minutes * (LONGEST_MIN - SHORTEST_MIN + 1)
    return -NormalDist().inv_cdf(alarms / tests / 2)


def robust_scale(series: Array) -> float:
    """The standard deviation of the bulk, from the median distance to the median: outliers do not matter."""
    middle = np.nanmedian(series)
    return float(np.nanmedian(np.abs(series - middle)) / NormalDist().inv_cdf(0.75))


def best_window(series: Array, cores: int = 1) -> Window:
    """Exhaustively, every start and every length, over a series of unit noise with NaN where nothing was read."""
    there = np.isfinite(series)
    total = np.concatenate([[0.0], np.cumsum(np.where(there, series, 0.0))])
    count = np.concatenate([[0.0], np.cumsum(there)])

    def block(lengths: range) -> Array:
        best = np.array([0.0, 0.0, lengths[0]])
        for length in lengths:
            mean = total[length:] - total[:-length]
            mean *= mean
            mean /= np.maximum(count[length:] - count[:-length], 1.0)
            at = int(np.argmax(mean))
            if mean[at] > best[0]:
                best[:] = mean[at], at, length
        return best

    last = min(LONGEST_MIN, len(series) - 1)
    blocks = [range(at, min(at + BLOCK, last + 1)) for at in range(SHORTEST_MIN, last + 1, BLOCK)]
    square, start, minutes = max(map_blocks(block, blocks, cores), key=lambda found: float(found[0]))
    return Window(int(start), int(minutes), float(np.sqrt(square)))


def windows(series: Array, tidy: Callable[[Array], Array], least: float, cores: int = 1) -> list[Window]:
    """The best window, then the best without it, and so on, while they reach the least score.

    ``tidy`` takes off what is not noise, and does so again after each find: what is wrong pulls at every fit, and
    once it is known and out, the rest looks better.
    """
    rest, found = series.copy(), []
    while True:
        left = tidy(rest)
        window = best_window(left / robust_scale(left), cores)
        if window.score < least:
            return found
        found.append(window)
        rest[max(0, window.start - MARGIN_MIN) : window.start + window.minutes + MARGIN_MIN] = np.nan
