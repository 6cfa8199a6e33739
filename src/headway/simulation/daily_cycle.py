"""The hours of the day at which jobs come: many in the afternoon, few before dawn.

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
    """Stretches a clock on which jobs come evenly, so that they come as the hours of a day make them.

    The even clock and the real one agree at every midnight. A half hour of weight 2 is two half hours of the even
    clock: twice as many jobs fall into it as into an average one. The weights are a gamma distribution's, cut into half
    hours; on average they are 1.

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
        """What the real clock shows when the even one shows `even_s`; both began at midnight."""
        days, rest = np.divmod(even_s, DAY_S)
        return np.asarray(days * DAY_S + np.interp(rest, self._even_s, self._real_s))

    def even_s(self, real_s: float) -> float:
        """What the even clock shows when the real one shows `real_s`."""
        days, rest = divmod(real_s, DAY_S)
        return days * DAY_S + float(np.interp(rest, self._real_s, self._even_s))


def gamma_cdf(values: Seconds, shape: float, scale: float) -> Seconds:
    """The share of a gamma distribution below each of `values`, which are some tens of `scale` at most.

    The incomplete gamma function's power series: all its terms are positive, so none cancel.
    """
    x = np.asarray(values, dtype=np.float64) / scale
    factors = x[:, None] / (shape + np.arange(1, 400))
    series = 1.0 + np.cumprod(factors, axis=1).sum(axis=1)
    return np.asarray(np.exp(shape * np.log(x) - x - math.lgamma(shape + 1)) * series)
