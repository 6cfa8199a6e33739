"""`linear-regression`: least squares of peak on input size, plus an offset for its errors (paper 004, section IV)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from msgspec import Struct, structs

from headway.model.outcome import Outcome
from headway.model.records import Figure
from headway.model.resources import describe
from headway.model.task import Task
from headway.model.units import format_bytes
from headway.sizing.learning import Learned, LearningSizer, earlier
from headway.sizing.observing import learned_peak

# 004 section IV-A: a line needs two points.
FEWEST_RECORDS = 2
# The offsets that look at underestimates need every record's error against the line of today. Beyond so many records
# they are computed anew not with every record but whenever there are a thousandth more.
ALWAYS_UP_TO = 10_000

Offset = Literal["none", "mean", "mean-minus", "max"]


class Line(Struct):
    """Least squares, one point after the other. The sums are about the means: sums of squares of bytes would leave no
    digits for the differences that matter."""

    records: int = 0
    mean_x: float = 0.0
    mean_y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0

    def add(self, x: float, y: float) -> None:
        """One more point."""
        self.records += 1
        from_x, from_y = x - self.mean_x, y - self.mean_y
        self.mean_x += from_x / self.records
        self.mean_y += from_y / self.records
        self.xx += from_x * (x - self.mean_x)
        self.xy += from_x * (y - self.mean_y)
        self.yy += from_y * (y - self.mean_y)

    @property
    def slope(self) -> float:
        """How much y rises with x; nothing where all x are the same."""
        return self.xy / self.xx if self.xx > 0 else 0.0

    @property
    def squared_errors(self) -> float:
        """The sum over all points, against the line as it is now."""
        return max(0.0, self.yy - self.slope * self.xy)


class LinearRegression(LearningSizer):
    """Least squares of peak on input size, from two records on, plus the mean underestimate (004's best: LR mean-).

    The offset is how far the line, as it is now, is wrong about the records (004 section IV-B). A prediction is never
    below the smallest peak: 004 does not say what a line that goes below zero means. A task whose input size is not
    known is predicted by the same regression with nothing to go by: the mean of all peaks and its offset; such a
    record teaches only that mean.

    >>> sizer = LinearRegressionNone("memory_bytes")
    >>> from headway.model.outcome import Ending, Measured, Quality, Usage
    >>> for size, peak in ((10, 100e6), (30, 200e6)):
    ...     usage = Usage(memory_bytes=Measured(peak, Quality.EXACT))
    ...     sizer.observe(Task("t", "t", "true", input_bytes=size), Outcome("t", 1, Ending.SUCCESS, 0, 1, usage))
    >>> sizer.learned(Task("t", "t", "true", input_bytes=20)).value
    150000000.0
    """

    name = "linear-regression"
    offset: ClassVar[Offset] = "mean-minus"

    def __init__(self, resource: str) -> None:
        super().__init__(resource)
        self._by_input = Line()
        self._by_nothing = Line()  # all x are 0: its value is the mean
        self._smallest = math.inf
        # Every record, where the offset needs it; a size that is not known is not a number.
        self._inputs = array("d")
        self._peaks = array("d")
        self._offsets = [0.0, 0.0]  # of the two lines
        self._offsets_at = 0  # records that they were computed from

    def learned(self, task: Task) -> Learned | None:
        known = task.input_bytes is not None and self._by_input.records >= FEWEST_RECORDS
        line = self._by_input if known else self._by_nothing
        if line.records < FEWEST_RECORDS:
            return None
        size = float(task.input_bytes or 0) if known else 0.0
        offset = self._offsets[0 if known else 1]
        value = max(self._smallest, line.mean_y + line.slope * (size - line.mean_x) + offset)
        figures: dict[str, Figure] = {
            "input_bytes": size,
            "mean_input": line.mean_x,
            "mean_peak": line.mean_y,
            "slope": line.slope,
            "offset": offset,
            "smallest": self._smallest,
            "records": line.records,
        }
        more = f", with {describe(self.resource, offset)} for its errors" if offset else ""
        grounds = f"a line through what {earlier(line.records)} used, at {format_bytes(size)} of input"
        if not known:
            grounds = f"the mean of what {earlier(line.records)} used"
        text = f"{grounds}{more}: {describe(self.resource, value)}"
        return Learned(value, "line" if known else "mean", figures, text)

    def observe(self, task: Task, outcome: Outcome) -> None:
        peak = learned_peak(self.resource, outcome)
        if peak is None:
            return
        self._smallest = min(self._smallest, peak)
        self._by_nothing.add(0.0, peak)
        if task.input_bytes is not None:
            self._by_input.add(float(task.input_bytes), peak)
        if self.offset in ("mean-minus", "max"):
            self._inputs.append(math.nan if task.input_bytes is None else task.input_bytes)
            self._peaks.append(peak)
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
        below = errors[errors > 0]  # equation 2; for one underestimate alone it is not defined
        return math.sqrt(float(below @ below) / (len(below) - 1)) if len(below) > 1 else 0.0

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "by_input": structs.asdict(self._by_input),
            "by_nothing": structs.asdict(self._by_nothing),
            "smallest": self._smallest if self._by_nothing.records else None,
            "inputs": [None if math.isnan(size) else int(size) for size in self._inputs],
            "peaks": self._peaks.tolist(),
            "offsets": list(self._offsets),
            "offsets_at": self._offsets_at,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._by_input = Line(**state["by_input"])
        self._by_nothing = Line(**state["by_nothing"])
        self._smallest = math.inf if state["smallest"] is None else float(state["smallest"])
        self._inputs = array("d", (math.nan if size is None else size for size in state["inputs"]))
        self._peaks = array("d", state["peaks"])
        self._offsets = [float(offset) for offset in state["offsets"]]
        self._offsets_at = int(state["offsets_at"])


class LinearRegressionNone(LinearRegression):
    """Least squares of peak on input size, as it is (004: LR)."""

    name = "linear-regression-none"
    offset = "none"


class LinearRegressionMean(LinearRegression):
    """Least squares of peak on input size, plus the standard deviation of its errors (004: LR mean±)."""

    name = "linear-regression-mean"
    offset = "mean"


class LinearRegressionMeanMinus(LinearRegression):
    """Least squares of peak on input size, plus the mean underestimate: what linear-regression is (004: LR mean-)."""

    name = "linear-regression-mean-minus"


class LinearRegressionMax(LinearRegression):
    """Least squares of peak on input size, plus the greatest underestimate (004: LR max-)."""

    name = "linear-regression-max"
    offset = "max"
