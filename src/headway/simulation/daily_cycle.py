"""The daily cycle of arrivals: many jobs in the afternoon, few before dawn.

After U. Lublin and D. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
JPDC 63(11), 2003, the part on arrivals, and the authors' program for it in the Parallel Workloads Archive.
"""

from __future__ import annotations

import math

import numpy as np

from headway.model.batch_log import Seconds

DAY_S = 86_400
BUCKETS = 48  # half hours
BUCKET_S = DAY_S // BUCKETS
FIRST_BUCKET = 11  # the gamma's day runs from 5 in the morning, the 11th half hour, to 5 the next morning


class DailyCycle:
    """Maps times on an even clock, by which jobs arrive at a constant rate, to times of a real day, and back.

    The two clocks agree at every midnight. A half hour of weight 2 takes two half hours of the even clock, so that
    twice as many jobs fall into it as into an average one. The weights are the probabilities of a gamma distribution
    in each half hour, scaled to a mean of 1.

    >>> cycle = DailyCycle(8.1737, 3.9631)
    >>> int(cycle.weights.argmax()) / 2, int(cycle.weights.argmin()) / 2  # the busiest and the quietest time of day
    (13.5, 5.0)
    """

    def __init__(self, shape: float, scale: float) -> None:
        edges = np.arange(FIRST_BUCKET, FIRST_BUCKET + BUCKETS + 1, dtype=np.float64) - 0.5
        shares = np.diff(gamma_cdf(edges, shape, scale))
        self.weights = np.roll(shares / shares.mean(), FIRST_BUCKET - 1)  # by half hour from midnight
        self._even_s = BUCKET_S * np.concatenate([[0.0], np.cumsum(self.weights)])
        self._even_s[-1] = DAY_S
        self._real_s = np.arange(BUCKETS + 1) * float(BUCKET_S)

    def real_s(self, even_s: Seconds) -> Seconds:
        """The real time for a time on the even clock; both begin at midnight."""
        days, rest = np.divmod(even_s, DAY_S)
        return np.asarray(days * DAY_S + np.interp(rest, self._even_s, self._real_s))

    def even_s(self, real_s: float) -> float:
        """The time on the even clock for a real time."""
        days, rest = divmod(real_s, DAY_S)
        return days * DAY_S + float(np.interp(rest, self._real_s, self._even_s))


def gamma_cdf(values: Seconds, shape: float, scale: float) -> Seconds:
    """The cumulative distribution function of a gamma distribution, for values up to some tens of `scale`.

    Computed by the power series of the incomplete gamma function; all its terms are positive, so that none cancel.
    """
    x = np.asarray(values, dtype=np.float64) / scale
    factors = x[:, None] / (shape + np.arange(1, 400))
    series = 1.0 + np.cumprod(factors, axis=1).sum(axis=1)
    return np.asarray(np.exp(shape * np.log(x) - x - math.lgamma(shape + 1)) * series)
