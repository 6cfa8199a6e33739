"""How the heat pump answers to the cold: a straight line up to a balance point, from sums by temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from power.period import Array

LOW_C, WIDTH_C, BINS = -40.0, 0.05, 2000


@dataclass(frozen=True)
class Response:
    """Standby power, watts a degree below the balance point, and the balance point."""

    standby_w: float
    slope_w_per_k: float
    balance_c: float

    def at(self, outdoor_c: Array) -> Array:
        return self.standby_w + self.slope_w_per_k * np.maximum(0, self.balance_c - outdoor_c)

    def slopes(self, outdoor_c: Array) -> Array:
        """Of the power, a row for each of the three numbers; the last one's without its factor."""
        below = np.maximum(0, self.balance_c - outdoor_c)
        return np.stack([np.ones(len(outdoor_c)), below, np.sign(below)])


def sums(outdoor_c: Array, watts: Array) -> Array:
    """For each bin of temperature: readings, and sums of temperature, power, and their products."""
    there = np.isfinite(watts)
    c, w = outdoor_c[there], watts[there]
    where = np.clip(np.floor((c - LOW_C) / WIDTH_C), 0, BINS - 1).astype(int)
    return np.stack([np.bincount(where, weights=each, minlength=BINS) for each in (c**0, c, w, c * c, c * w, w * w)])


def normal_equations(merged: Array, about: Response) -> tuple[Array, Array, float]:
    """Of the problem linearised about a response: its matrix, its right side, and the sum of squares left there.

    A bin is taken to lie on one side of the balance point as a whole, which is true of all but one.
    """
    n, c, w, cc, cw, ww = merged
    level, s, b = about.standby_w, about.slope_w_per_k, about.balance_c
    cold = LOW_C + WIDTH_C * (np.arange(BINS) + 0.5) < b
    every, below = n.sum(), n[cold].sum()
    drive, drive_2 = np.sum((b * n - c)[cold]), np.sum((b * b * n - 2 * b * c + cc)[cold])
    w_all, w_cold, w_drive = w.sum(), w[cold].sum(), np.sum((b * w - cw)[cold])
    matrix = np.array([[every, drive, s * below], [drive, drive_2, s * drive], [s * below, s * drive, s * s * below]])
    left = w_all - level * every - s * drive
    left_drive = w_drive - level * drive - s * drive_2
    left_cold = w_cold - level * below - s * drive
    square = ww.sum() - 2 * (level * w_all + s * w_drive) + level**2 * every + 2 * level * s * drive + s**2 * drive_2
    return matrix, np.array([left, left_drive, s * left_cold]), float(square)


def line_at(merged: Array, balance_c: float) -> tuple[float, Response]:
    """The best standby power and slope for a given balance point, and the sum of squares that they leave."""
    matrix, right, _ = normal_equations(merged, Response(0.0, 0.0, balance_c))
    standby_w, slope = np.linalg.solve(matrix[:2, :2], right[:2])
    found = Response(float(standby_w), float(slope), balance_c)
    return normal_equations(merged, found)[2], found


def fit(merged: Array) -> Response:
    """Least squares: the best of some balance points all over the range, then Gauss and Newton's steps."""
    coldest, warmest = LOW_C + WIDTH_C * np.flatnonzero(merged[0])[[0, -1]]
    candidates = np.linspace(coldest, warmest, 62)[1:-1]
    found = min((line_at(merged, balance_c) for balance_c in candidates), key=lambda tried: tried[0])[1]
    for _ in range(20):
        matrix, right, _ = normal_equations(merged, found)
        step = np.linalg.solve(matrix, right)
        found = Response(*(float(x) for x in np.array([found.standby_w, found.slope_w_per_k, found.balance_c]) + step))
    return found


def noise_w(merged: Array, found: Response) -> float:
    """The standard deviation of what the response leaves."""
    return float(np.sqrt(normal_equations(merged, found)[2] / (merged[0].sum() - 3)))


def errors(merged: Array, true: Response, noise_w: float) -> Response:
    """Standard errors of the three numbers for white noise of known size."""
    matrix, _, _ = normal_equations(merged, true)
    return Response(*(noise_w * np.sqrt(np.diag(np.linalg.inv(matrix)))))
