"""The best first allocation when one retry gets the maximum (Tovar et al. 2018; Phung and Thain 2024, section V).

Both functions take ascending peaks and the run time of each, and return the index of the best peak. Only peaks can be
best: an amount between two of them costs more than the lower one and suffices for no more tasks. With τ̄ the mean run
time, τ(>a) the run times of records above a, divided by the number of all records, and a_max the greatest peak:

    min-waste       least     a · τ̄ + a_max · τ(>a)
    max-throughput  greatest  (a_max/a · P(≤a) + P(>a)) / (τ̄ + τ(>a))

Among records of equal value the last has the true sums; the others look worse, so they can be ignored. These are a few
passes over arrays, for which numpy is fast enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def least_waste(values: Values, times_s: Values) -> int:
    """Return the index of the peak that is expected to waste least as a first allocation."""
    mean_s, above_s = _times(times_s)
    return int(np.argmin(values * mean_s + values[-1] * above_s))


def most_throughput(values: Values, times_s: Values) -> int:
    """Return the index of the peak that lets most tasks through as a first allocation.

    Throughput is the number of tasks that fit side by side into the maximum, over the time they take with retries.
    """
    mean_s, above_s = _times(times_s)
    count = len(values)
    enough = np.arange(1, count + 1) / count
    return int(np.argmax((values[-1] / values * enough + (1 - enough)) / (mean_s + above_s)))


def _times(times_s: Values) -> tuple[float, Values]:
    """Return τ̄, and τ(>a) for each record."""
    upto_s = np.cumsum(times_s)
    return upto_s[-1] / len(times_s), (upto_s[-1] - upto_s) / len(times_s)
