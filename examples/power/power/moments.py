"""Mean and covariance of several quantities at once, in a form that merges exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from power.period import Array


@dataclass(frozen=True)
class Moments:
    """Number of readings, mean of each quantity, and sums of products of deviations from the means.

    Merged as in T. Chan, G. Golub, R. LeVeque, "Updating formulae and a pairwise algorithm for computing sample
    variances" (1979): sums of raw squares would lose all digits where a mean is large against the deviation, as
    for a voltage.
    """

    count: int
    mean: Array
    products: Array

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Of a row a quantity; minutes in which anything is missing do not count."""
        there = values[:, np.isfinite(values).all(axis=0)]
        if there.shape[1] == 0:
            return cls(0, np.zeros(len(values)), np.zeros((len(values), len(values))))
        mean = there.mean(axis=1)
        deviations = there - mean[:, None]
        return cls(there.shape[1], mean, deviations @ deviations.T)

    def __add__(self, other: Moments) -> Moments:
        count = self.count + other.count
        if count == 0:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.count / count)
        products = self.products + other.products + np.outer(apart, apart) * (self.count * other.count / count)
        return Moments(count, mean, products)

    @property
    def covariance(self) -> Array:
        return self.products / (self.count - 1)

    def regress(self, wanted: int, on: list[int]) -> tuple[float, Array]:
        """Least squares of one quantity on others: the constant and the slopes."""
        slopes = np.linalg.solve(self.products[np.ix_(on, on)], self.products[on, wanted])
        return float(self.mean[wanted] - slopes @ self.mean[on]), slopes

    def regression_errors(self, on: list[int], noise: float) -> tuple[float, Array]:
        """Standard errors of the constant and the slopes, for white noise of known size."""
        inverse = np.linalg.inv(self.products[np.ix_(on, on)])
        constant = noise * np.sqrt(1 / self.count + self.mean[on] @ inverse @ self.mean[on])
        return float(constant), noise * np.sqrt(np.diag(inverse))
