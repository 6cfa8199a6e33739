"""Fourier sums at many frequencies over readings with gaps: each chunk's add up to the whole period's."""

from __future__ import annotations

import numpy as np

from power.cores import map_blocks
from power.period import DAY_MINUTES, Array, Period

SLOWEST, FASTEST = 6.0, 50.0  # cycles a day: above what a day's profile holds
OVERSAMPLING = 2
BLOCK = 512  # frequencies at a time; fixed, so that the result does not depend on the number of cores


def frequencies(period: Period) -> Array:
    """Fine enough for the whole period: two in each resolvable step of 1 / period."""
    step = 1 / (OVERSAMPLING * period.days)
    return np.arange(SLOWEST, FASTEST, step)


def sums(start: int, watts: Array, cycles_per_day: Array, cores: int = 1) -> Array:
    """Sums of exp(-i w t) over readings (row 1: times the reading) that are there; whole days only.

    The exponential of a minute is that of its day times that of its hour times that of the minute in it, so the
    inner sum is a product of matrices with a table of 60 rows, which no fast Fourier transform of so fine a grid beats.
    """
    there = np.isfinite(watts)
    stacked = np.stack([there, np.where(there, watts, 0.0)]).reshape(-1, 60)
    days = len(watts) // DAY_MINUTES
    day = start // DAY_MINUTES + np.arange(days)

    def block(f: Array) -> Array:
        turn = -2j * np.pi * f
        in_hour = np.exp(np.arange(60)[:, None] / DAY_MINUTES * turn)
        products = np.empty((len(stacked), len(f)), complex)
        products.real, products.imag = stacked @ in_hour.real, stacked @ in_hour.imag
        hours = products.reshape(2, days, 24, len(f))
        in_day = np.einsum("rdhf,hf->rdf", hours, np.exp(np.arange(24)[:, None] / 24 * turn))
        whole: Array = np.einsum("rdf,df->rf", in_day, np.exp(day[:, None] * turn))
        return whole

    blocks = [cycles_per_day[at : at + BLOCK] for at in range(0, len(cycles_per_day), BLOCK)]
    return np.concatenate(map_blocks(block, blocks, cores), axis=1)


def about_the_mean(fourier: Array, mean_w: float) -> Array:
    """The sums of the readings' deviations from a mean: linear in both rows."""
    return fourier[1] - mean_w * fourier[0]


def refine(peak: float, middles_day: Array, chunk_sums: Array, weights: Array) -> float:
    """A frequency better than the grid: the phase of one wave advances with time at its distance from ``peak``.

    Each chunk's sum tells the phase at its middle; a straight line through them has the distance as its slope.
    Nearly as good as the best possible, 1 - 1 / chunks**2 of it (S. Tretter, "Estimating the frequency of a noisy
    sinusoid by linear regression", 1985).
    """
    phase = np.unwrap(np.angle(chunk_sums))
    slope = np.polyfit(middles_day, phase, 1, w=np.sqrt(weights))[0]
    return float(peak + slope / (2 * np.pi))
