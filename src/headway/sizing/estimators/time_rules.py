"""Rules for run times that are compared with Headway's own: `Lotaru` and `MeanPlusTwoSigma`.

Both have the same shape: `add` a finished run, then `normal` is the mean and the standard deviation of the next one.
"""

from __future__ import annotations

import math
from bisect import insort

from headway.sizing.estimators.base import MOST_RECORDS

TWO_SIGMA = 2.0
CORRELATES = 0.75  # Pearson's coefficient from which on Lotaru uses the input size
_TINY = 1e-6  # scikit-learn's priors of both precisions
_ROUNDS = 300


class MeanPlusTwoSigma:
    """The mean of all run times so far and their standard deviation; after one run, that run and as much again.

    >>> rule = MeanPlusTwoSigma()
    >>> for seconds in (10, 20, 30):
    ...     rule.add(seconds, None)
    >>> rule.normal(None)
    (20.0, 10.0)
    """

    def __init__(self) -> None:
        self.runs = 0
        self._mean = self._squares = 0.0

    def add(self, seconds: float, size: float | None) -> None:
        """Learn from a run with inputs of `size` bytes."""
        self.runs += 1
        off = seconds - self._mean
        self._mean += off / self.runs
        self._squares += off * (seconds - self._mean)

    def normal(self, size: float | None) -> tuple[float, float]:
        """Return the mean and the standard deviation of the next run time."""
        if self.runs < 2:
            return self._mean, self._mean / TWO_SIGMA
        return self._mean, math.sqrt(self._squares / (self.runs - 1))


class Lotaru:
    """Bayesian linear regression of the run time on the input size if they correlate, else the median.

    Bader et al. 2022 learn both from runs on small parts of the input, and scale the answer to other machines by
    benchmarks. Here all earlier runs of the category count, and there is one kind of machine. They give no deviation
    for the median: here it is that of the run times.

    >>> rule = Lotaru()
    >>> for gigabytes in (1, 2, 3):
    ...     rule.add(60.0 * gigabytes, 1e9 * gigabytes)
    >>> round(rule.normal(10e9)[0])
    600
    """

    def __init__(self) -> None:
        self._all = MeanPlusTwoSigma()
        self._ordered: list[float] = []
        self._pairs = 0  # runs whose input size is known
        self._size = self._seconds = 0.0  # their means
        self._size_size = self._size_seconds = self._seconds_seconds = 0.0  # sums of products around these

    def add(self, seconds: float, size: float | None) -> None:
        """Learn from a run with inputs of `size` bytes."""
        self._all.add(seconds, size)
        insort(self._ordered, seconds)
        if len(self._ordered) > MOST_RECORDS:
            self._ordered = self._ordered[::2]
        if size is None:
            return
        self._pairs += 1
        off_size, off_seconds = size - self._size, seconds - self._seconds
        self._size += off_size / self._pairs
        self._seconds += off_seconds / self._pairs
        self._size_size += off_size * (size - self._size)
        self._size_seconds += off_size * (seconds - self._seconds)
        self._seconds_seconds += off_seconds * (seconds - self._seconds)

    def normal(self, size: float | None) -> tuple[float, float]:
        """Return the mean and the standard deviation of the next run time."""
        product = math.sqrt(self._size_size * self._seconds_seconds)
        if size is not None and self._pairs > 1 and product > 0 and self._size_seconds >= CORRELATES * product:
            return self._regression(size)
        middle = len(self._ordered) // 2
        median = (self._ordered[middle] + self._ordered[-middle - 1]) / 2
        return median, self._all.normal(None)[1]

    def _regression(self, size: float) -> tuple[float, float]:
        """Fit both precisions by evidence, as scikit-learn's BayesianRidge does, which Lotaru uses."""
        noise, prior, slope = self._pairs / self._seconds_seconds, 1.0, 0.0
        for _ in range(_ROUNDS):
            before, slope = slope, noise * self._size_seconds / (prior + noise * self._size_size)
            if math.isclose(before, slope, rel_tol=1e-6):
                break
            known = noise * self._size_size / (prior + noise * self._size_size)
            left = max(0.0, self._seconds_seconds - slope * (2 * self._size_seconds - slope * self._size_size))
            prior = (known + 2 * _TINY) / (slope**2 + 2 * _TINY)
            noise = (self._pairs - known + 2 * _TINY) / (left + 2 * _TINY)
        off = size - self._size
        variance = 1.0 / noise + off**2 / (prior + noise * self._size_size)
        return max(0.0, self._seconds + slope * off), math.sqrt(variance)
