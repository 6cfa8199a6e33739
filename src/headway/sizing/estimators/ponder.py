"""`ponder`: a line where input size explains the peaks, else the maximum (Lehmann et al. 2024, arXiv 2408.00047)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.model.units import format_bytes
from headway.sizing.learning import Learned, LearningSizer, earlier
from headway.sizing.observing import learned_peak

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESERVE_BYTES = 128_000_000
LEAST_CORRELATION = 0.3
UNDERESTIMATES_WEIGH = 50.0
# The line is through the last so many records: learning and asking cost the same after a million of them.
KEPT = 1000
# Each step of the fit moves points from one side of the line to the other; a handful suffices in practice.
MOST_STEPS = 50


class Ponder(LearningSizer):
    """Where input size and peak correlate above 0.3, a line that weighs underestimates 50 times, plus twice the spread
    of the peaks around it; else the greatest peak; in both cases at least 128 MB more.

    A rule of thumb in use today, here for comparison. As published, a prediction stays between the smallest and the
    greatest peak for sizes up to the greatest that was seen, is at least the greatest peak beyond it, and the spread
    counts records by how near their input size is to the task's. Not as published, it learns from the first record on:
    there, the first five mostly get what the workflow asks for, which wastes a little more. The line is through the
    last 1,000 records whose input size was known; for a task whose size is not known, the greatest peak and 128 MB.
    Cores are the most that were seen.
    """

    name = "ponder"

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._records = 0
        self._smallest = math.inf
        self._greatest = 0.0
        self._greatest_input = 0.0
        self._sizes = array("d")  # of the inputs of the last records, the oldest first
        self._peaks = array("d")  # of the same records
        self._fit: tuple[float, float, float] | None = None  # correlation, intercept, slope of these

    def learned(self, task: Task) -> Learned | None:
        if not self._records:
            return None
        if self.resource == "cores":
            return self._maximum(0.0)
        if task.input_bytes is None or len(self._sizes) < 2:
            return self._maximum(RESERVE_BYTES)
        if self._fit is None:
            self._fit = _fit(self._sizes, self._peaks)
        correlation, intercept, slope = self._fit
        if correlation <= LEAST_CORRELATION:
            return self._maximum(RESERVE_BYTES)
        size = float(task.input_bytes)
        line = intercept + slope * size
        spread = _spread_near(size, self._sizes, self._peaks, intercept, slope)
        reserve = max(RESERVE_BYTES, 2 * spread)
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
            f"and {describe(self.resource, reserve)} more: {describe(self.resource, value)}"
        )
        return Learned(value, "line-and-reserve", figures, text)

    def _maximum(self, reserve: float) -> Learned:
        figures: dict[str, Figure] = {"maximum": self._greatest, "reserve": reserve, "records": self._records}
        text = f"the most that {earlier(self._records)} used is {describe(self.resource, self._greatest)}"
        text += f", and {describe(self.resource, reserve)} more" if reserve else ""
        return Learned(self._greatest + reserve, "maximum-and-reserve", figures, text)

    def _within_what_was_seen(self, size: float, line: float) -> float:
        if size >= self._greatest_input:
            return max(line, self._greatest)
        return min(max(line, self._smallest), self._greatest)

    def observe(self, task: Task, outcome: Outcome) -> None:
        peak = learned_peak(self.resource, outcome)
        if peak is None:
            return
        self._records += 1
        self._smallest = min(self._smallest, peak)
        self._greatest = max(self._greatest, peak)
        if task.input_bytes is not None:
            self._greatest_input = max(self._greatest_input, task.input_bytes)
            self._sizes.append(task.input_bytes)
            self._peaks.append(peak)
            del self._sizes[:-KEPT], self._peaks[:-KEPT]
            self._fit = None

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "records": self._records,
            "smallest": self._smallest if self._records else None,
            "greatest": self._greatest,
            "greatest_input": self._greatest_input,
            "sizes": self._sizes.tolist(),
            "peaks": self._peaks.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._records = int(state["records"])
        self._smallest = math.inf if state["smallest"] is None else float(state["smallest"])
        self._greatest = float(state["greatest"])
        self._greatest_input = float(state["greatest_input"])
        self._sizes = array("d", state["sizes"])
        self._peaks = array("d", state["peaks"])
        self._fit = None


def _fit(known_sizes: array[float], known_peaks: array[float]) -> tuple[float, float, float]:
    """Pearson's correlation (0 where there is none to speak of), and intercept and slope of the line that minimises
    the squared errors with underestimates weighing 50 times.

    Least squares with the weights of the side of the line on which each point lies, until no point changes sides: then
    it is the minimum, since the cost is convex.
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
    """The standard deviation of the peaks around the line, in which the farthest input size counts nothing and one of
    just `size` counts 1. With fewer than ten records the farthest count a little too."""
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
