"""`ponder`: a line where input size explains the peaks, else the maximum."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

from headway.model.records import Figure
from headway.model.units import format_bytes
from headway.sizing.estimators.base import Attempt, Estimate, Estimator, Query, earlier

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESERVE_BYTES = 128_000_000
LEAST_CORRELATION = 0.3
UNDERESTIMATES_WEIGH = 50.0
KEPT = 1000  # records in the line, so that learning and asking cost the same after a million
MOST_STEPS = 50  # of the fit, each of which moves points from one side of the line to the other; a handful suffices


class Ponder(Estimator):
    """Where input size and peak correlate above 0.3, a line that weighs underestimates 50 times, plus twice the spread
    of the peaks around it; else the greatest peak; in both cases at least 128 MB more.

    Lehmann et al. 2024 (arXiv 2408.00047). As published, an estimate stays between the smallest and the greatest peak
    for sizes up to the greatest that was seen, and is at least the greatest peak beyond it; the spread counts records
    by how near their input size is to the task's. Not as published, it learns from the first record on (there, the
    first five tasks mostly get what the workflow asks for, which wastes a little more), and the line goes through the
    last 1,000 records with a known input size. A task whose input size is unknown gets the greatest peak and 128 MB.

    `reserve`: the least that is added. `by_input`: whether there is a line at all; for cores there is none.

    >>> estimator = Ponder()
    >>> for size in range(1, 21):
    ...     estimator.learn(Attempt(size * 1e8, input_bytes=size))
    >>> round(estimator.estimate(Query(input_bytes=7)).value)
    828000000
    """

    name = "ponder"
    learned = ("records", "smallest", "greatest", "greatest_input", "sizes", "peaks")
    _found: tuple[float, float, float] | None  # correlation, intercept and slope of the last records

    def __init__(self, reserve: float = RESERVE_BYTES, *, by_input: bool = True) -> None:
        self._reserve = reserve
        self._with_line = by_input
        self._records = 0
        self._smallest: float | None = None
        self._greatest = 0.0
        self._greatest_input = 0.0
        self._sizes = array("d")  # of the inputs of the last records, the oldest first
        self._peaks = array("d")  # of the same records

    def estimate(self, query: Query) -> Estimate | None:
        if not self._records:
            return None
        if not self._with_line or query.input_bytes is None or len(self._sizes) < 2:
            return self._maximum(query)
        self._found = self._found or _fit(self._sizes, self._peaks)
        correlation, intercept, slope = self._found
        if correlation <= LEAST_CORRELATION:
            return self._maximum(query)
        size = float(query.input_bytes)
        line = intercept + slope * size
        spread = _spread_near(size, self._sizes, self._peaks, intercept, slope)
        reserve = max(self._reserve, 2 * spread)
        value = self._within_what_was_seen(size, line) + reserve
        figures: dict[str, Figure] = {
            "input_bytes": size,
            "intercept": intercept,
            "slope": slope,
            "smallest": self._smallest,
            "greatest": self._greatest,
            "greatest_input": self._greatest_input,
            "correlation": correlation,
            "spread": spread,
            "reserve": reserve,
            "records": len(self._sizes),
        }
        text = (
            f"a line above most of what {earlier(len(self._sizes))} used, at {format_bytes(size)} of input, "
            f"and {query.show(reserve)} more: {query.show(value)}"
        )
        return Estimate(value, "line-and-reserve", figures, text)

    def _maximum(self, query: Query) -> Estimate:
        figures: dict[str, Figure] = {"maximum": self._greatest, "reserve": self._reserve, "records": self._records}
        text = f"the most that {earlier(self._records)} used is {query.show(self._greatest)}"
        text += f", and {query.show(self._reserve)} more" if self._reserve else ""
        return Estimate(self._greatest + self._reserve, "maximum-and-reserve", figures, text)

    def _within_what_was_seen(self, size: float, line: float) -> float:
        if size >= self._greatest_input:
            return max(line, self._greatest)
        return min(max(line, self._smallest or 0.0), self._greatest)

    def learn(self, attempt: Attempt) -> None:
        peak, size = attempt.peak or 0.0, attempt.input_bytes
        self._records += 1
        self._smallest = min(self._smallest or peak, peak)
        self._greatest = max(self._greatest, peak)
        if size is not None:
            self._greatest_input = max(self._greatest_input, size)
            self._sizes.append(size)
            self._peaks.append(peak)
            del self._sizes[:-KEPT], self._peaks[:-KEPT]
            self._found = None


def _fit(known_sizes: array[float], known_peaks: array[float]) -> tuple[float, float, float]:
    """Return Pearson's correlation (0 where it is not defined), and the intercept and slope of the line that minimises
    the squared errors with underestimates weighing 50 times.

    Repeats weighted least squares, each point weighted by the side of the line on which it lies, until no point changes
    sides: that is the minimum, since the cost is convex.
    """
    import numpy

    sizes, peaks = numpy.frombuffer(known_sizes), numpy.frombuffer(known_peaks)
    weights = numpy.ones(len(sizes))
    correlation = 0.0
    for step in range(MOST_STEPS):
        total = weights.sum()
        mean_size, mean_peak = float(weights @ sizes / total), float(weights @ peaks / total)
        from_size, from_peak = sizes - mean_size, peaks - mean_peak
        both, own = float(weights * from_size @ from_peak), float(weights * from_size @ from_size)
        if step == 0:
            spread = own * float(from_peak @ from_peak)
            if spread <= 0:
                return 0.0, mean_peak, 0.0
            correlation = both / math.sqrt(spread)
        slope = both / own
        weighed = numpy.where(from_peak > slope * from_size, UNDERESTIMATES_WEIGH, 1.0)
        if step and (weighed == weights).all():
            break
        weights = weighed
    return correlation, mean_peak - slope * mean_size, slope


def _spread_near(
    size: float, known_sizes: array[float], known_peaks: array[float], intercept: float, slope: float
) -> float:
    """Return the standard deviation of the peaks around the line, weighted by distance in input size: a record of just
    `size` counts 1 and the farthest 0 (with fewer than ten records, a little more than 0)."""
    import numpy

    sizes, peaks = numpy.frombuffer(known_sizes), numpy.frombuffer(known_peaks)
    errors: NDArray[numpy.float64] = peaks - (intercept + slope * sizes)
    distance = numpy.abs(sizes - size)
    weights = 1.0 - distance / (distance.max() or 1.0) + max(0.0, 1.0 - len(sizes) / 10) / 100
    total = float(weights.sum())
    freedom = total - float(weights @ weights) / total if total > 0 else 0.0
    if freedom <= 0:
        return 0.0
    mean = float(weights @ errors) / total
    return math.sqrt(float(weights @ (errors - mean) ** 2) / freedom)
