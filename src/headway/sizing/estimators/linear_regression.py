"""`linear-regression`: least squares of peak on input size, plus an offset for its errors."""

from __future__ import annotations

import math
from array import array
from typing import ClassVar, Literal

from msgspec import Struct

from headway.model.records import Figure
from headway.model.units import format_bytes
from headway.sizing.estimators.base import MOST_RECORDS, Attempt, Estimate, Estimator, Query, earlier, thinned

FEWEST_RECORDS = 2  # a line needs two points (Witt et al. 2019, section IV-A)
# Offsets that look at underestimates need every record's error against today's line. Up to this many records they are
# computed with every record, beyond it whenever there are a thousandth more.
ALWAYS_UP_TO = 10_000

Offset = Literal["none", "mean", "mean-minus", "max"]


class Line(Struct):
    """Least squares, one point after the other.

    The sums are about the means: sums of squares of bytes would leave no digits for the differences that matter.
    """

    records: int = 0
    mean_x: float = 0.0
    mean_y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0

    def add(self, x: float, y: float) -> None:
        """Add a point."""
        self.records += 1
        from_x, from_y = x - self.mean_x, y - self.mean_y
        self.mean_x += from_x / self.records
        self.mean_y += from_y / self.records
        self.xx += from_x * (x - self.mean_x)
        self.xy += from_x * (y - self.mean_y)
        self.yy += from_y * (y - self.mean_y)

    @property
    def slope(self) -> float:
        """How much y rises with x; 0 where all x are the same."""
        return self.xy / self.xx if self.xx > 0 else 0.0

    @property
    def squared_errors(self) -> float:
        """The sum over all points, against today's line."""
        return max(0.0, self.yy - self.slope * self.xy)


class LinearRegression(Estimator):
    """Least squares of peak on input size, from two records on, plus the mean underestimate.

    The offset is computed from the errors of today's line on all records. Witt et al. 2019, section IV; this is their
    best predictor, LR mean-. Not in the paper: an estimate is never below the smallest peak, since a line may go below
    zero; a task whose input size is unknown is estimated by the mean of all peaks and its offset, and its record
    teaches only that mean.

    >>> estimator = LinearRegressionNone()
    >>> for size, peak in ((10, 100e6), (30, 200e6)):
    ...     estimator.learn(Attempt(peak, input_bytes=size))
    >>> estimator.estimate(Query(input_bytes=20)).value
    150000000.0
    """

    name = "linear-regression"
    learned = ("by_input", "by_nothing", "smallest", "inputs", "peaks", "offsets", "offsets_at")
    offset: ClassVar[Offset] = "mean-minus"

    def __init__(self) -> None:
        self._by_input = Line()
        self._by_nothing = Line()  # all x are 0: its value is the mean
        self._smallest: float | None = None
        # Every record, where the offset needs it; an unknown size is NaN.
        self._inputs = array("d")
        self._peaks = array("d")
        self._offsets = [0.0, 0.0]  # of the two lines
        self._offsets_at = 0  # number of records they were computed from

    def estimate(self, query: Query) -> Estimate | None:
        known = query.input_bytes is not None and self._by_input.records >= FEWEST_RECORDS
        line = self._by_input if known else self._by_nothing
        if line.records < FEWEST_RECORDS:
            return None
        size = float(query.input_bytes or 0) if known else 0.0
        offset = self._offsets[0 if known else 1]
        value = max(self._smallest or 0.0, line.mean_y + line.slope * (size - line.mean_x) + offset)
        figures: dict[str, Figure] = {
            "input_bytes": size,
            "mean_input": line.mean_x,
            "mean_peak": line.mean_y,
            "slope": line.slope,
            "offset": offset,
            "smallest": self._smallest,
            "records": line.records,
        }
        more = f", with {query.show(offset)} for its errors" if offset else ""
        grounds = f"a line through what {earlier(line.records)} used, at {format_bytes(size)} of input"
        if not known:
            grounds = f"the mean of what {earlier(line.records)} used"
        return Estimate(value, "line" if known else "mean", figures, f"{grounds}{more}: {query.show(value)}")

    def learn(self, attempt: Attempt) -> None:
        peak, size = attempt.peak or 0.0, attempt.input_bytes
        self._smallest = min(self._smallest or peak, peak)
        self._by_nothing.add(0.0, peak)
        if size is not None:
            self._by_input.add(float(size), peak)
        if self.offset in ("mean-minus", "max"):
            self._inputs.append(math.nan if size is None else size)
            self._peaks.append(peak)
            if len(self._peaks) > MOST_RECORDS:
                self._inputs, self._peaks = thinned(self._inputs), thinned(self._peaks)
        records = self._by_nothing.records
        if records <= ALWAYS_UP_TO or records >= self._offsets_at * 1.001:
            self._offsets_at = records
            self._offsets = [self._offset_of(self._by_input), self._offset_of(self._by_nothing)]

    def _offset_of(self, line: Line) -> float:
        if self.offset == "none" or line.records < FEWEST_RECORDS:
            return 0.0
        if self.offset == "mean":  # equation 1
            return math.sqrt(line.squared_errors / (line.records - 1))
        import numpy

        errors = numpy.frombuffer(self._peaks) - line.mean_y
        if line is self._by_input:
            inputs = numpy.frombuffer(self._inputs)
            errors = (errors - line.slope * (inputs - line.mean_x))[~numpy.isnan(inputs)]
        if self.offset == "max":  # equation 3
            return max(0.0, float(errors.max()))
        below = errors[errors > 0]  # equation 2, which is not defined for one underestimate alone
        return math.sqrt(float(below @ below) / (len(below) - 1)) if len(below) > 1 else 0.0


class LinearRegressionNone(LinearRegression):
    """Least squares of peak on input size, without an offset (Witt et al. 2019: LR)."""

    name = "linear-regression-none"
    offset = "none"


class LinearRegressionMean(LinearRegression):
    """Least squares of peak on input size, plus the standard deviation of its errors (Witt et al. 2019: LR mean±)."""

    name = "linear-regression-mean"
    offset = "mean"


class LinearRegressionMeanMinus(LinearRegression):
    """Another name for linear-regression (Witt et al. 2019: LR mean-)."""

    name = "linear-regression-mean-minus"


class LinearRegressionMax(LinearRegression):
    """Least squares of peak on input size, plus the greatest underestimate (Witt et al. 2019: LR max-)."""

    name = "linear-regression-max"
    offset = "max"
