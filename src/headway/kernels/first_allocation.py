"""The first allocation that costs least when one retry gets the maximum (Tovar et al. 2018, as 001 section V uses it).

Both take peaks sorted upwards and the run time of each, and give the index of the best. Only peaks come into question:
anything between two of them costs more than the lower one and helps no more tasks. With τ̄ the mean run time, τ(>a) the
run times of records above a, divided by the number of all, and a_max the greatest peak:

    min-waste       least     a · τ̄ + a_max · τ(>a)
    max-throughput  greatest  (a_max/a · P(≤a) + P(>a)) / (τ̄ + τ(>a))

Of records of equal value the last has the true sums; the others look worse, so they need no care. A few passes over
arrays: numpy is fast enough, there is nothing to compile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def least_waste(values: Values, times_s: Values) -> int:
    """The index of the peak that as a first allocation is expected to hold least for the time it is held."""
    mean_s, above_s = _times(times_s)
    return int(np.argmin(values * mean_s + values[-1] * above_s))


def most_throughput(values: Values, times_s: Values) -> int:
    """The index of the peak that as a first allocation lets most tasks through: as many side by side as fit into the
    room of the maximum, over the time they take with retries."""
    mean_s, above_s = _times(times_s)
    count = len(values)
    enough = np.arange(1, count + 1) / count
    return int(np.argmax((values[-1] / values * enough + (1 - enough)) / (mean_s + above_s)))


def _times(times_s: Values) -> tuple[float, Values]:
    """τ̄, and τ(>a) for each record."""
    upto_s = np.cumsum(times_s)
    return upto_s[-1] / len(times_s), (upto_s[-1] - upto_s) / len(times_s)
