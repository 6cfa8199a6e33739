"""Least squares of peak on input size, with the offsets of Witt et al. 2019, section IV-B."""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators import linear_regression
from headway.sizing.estimators.base import Query
from headway.sizing.estimators.linear_regression import (
    LinearRegression,
    LinearRegressionMax,
    LinearRegressionMean,
    LinearRegressionMeanMinus,
    LinearRegressionNone,
)
from tests.sizing.made import sizer_of

GB = 10**9
CONTEXT = Context(Resources(cores=4, memory_bytes=16 * GB, disk_bytes=100 * GB), start={"memory_bytes": GB})
ALL = [
    LinearRegression,
    LinearRegressionNone,
    LinearRegressionMean,
    LinearRegressionMeanMinus,
    LinearRegressionMax,
]
# The means are 1.5 and 225, the sums of squares 5 (x) and 350 (xy): the line is 120 + 70 x.
POINTS = [(0, 100.0), (1, 230.0), (2, 240.0), (3, 330.0)]


def task(size: int | None) -> Task:
    return Task("t", "c", "true", outputs=("o",), input_bytes=size)


def success(peak: float) -> Outcome:
    return Outcome("t", 1, Ending.SUCCESS, 0, 10, Usage(memory_bytes=Measured(peak, Quality.EXACT)))


def taught(
    kind: type[LinearRegression], points: list[tuple[int, float]] | list[tuple[int | None, float]]
) -> EstimatedSizer:
    sizer = sizer_of(kind)
    for size, peak in points:
        sizer.observe(task(size), success(peak))
    return sizer


def predicted(sizer: EstimatedSizer, size: int | None) -> float:
    learned = sizer.estimator.estimate(Query(input_bytes=size))
    assert learned is not None and isinstance(learned.value, float)
    return learned.value


def value(answer: Prediction | CannotFit) -> float | None:
    assert isinstance(answer, Prediction), answer
    return answer.value


def test_the_points_by_hand() -> None:
    """The errors (peak minus line) are -20, 40, -20 and 0."""
    assert predicted(taught(LinearRegressionNone, POINTS), 10) == pytest.approx(820)
    assert predicted(taught(LinearRegressionMean, POINTS), 10) == pytest.approx(820 + math.sqrt(2400 / 3))
    assert predicted(taught(LinearRegressionMax, POINTS), 10) == pytest.approx(860)


def test_the_mean_underestimate_by_hand() -> None:
    """Flat at 200; the errors are 30, -40, 20, -40, 30: three underestimates."""
    points = [(0, 230.0), (1, 160.0), (2, 220.0), (3, 160.0), (4, 230.0)]
    assert predicted(taught(LinearRegressionNone, points), 50) == pytest.approx(200)
    for kind in (LinearRegression, LinearRegressionMeanMinus):
        assert predicted(taught(kind, points), 50) == pytest.approx(200 + math.sqrt((900 + 400 + 900) / 2))


def test_one_underestimate_alone_is_no_offset() -> None:
    points = [(0, 100.0), (1, 220.0), (2, 100.0)]  # flat at 140: errors -40, 80, -40
    assert predicted(taught(LinearRegression, points), 1) == pytest.approx(140)
    assert predicted(taught(LinearRegressionMax, points), 1) == pytest.approx(220)


def test_ready_after_two_records() -> None:
    sizer = taught(LinearRegressionNone, [(10, 100.0)])
    assert value(sizer.predict(task(20), [], CONTEXT)) == GB
    sizer.observe(task(20), success(300))
    assert value(sizer.predict(task(30), [], CONTEXT)) == 500


def test_a_line_that_goes_below_zero_stops_at_the_smallest_peak() -> None:
    sizer = taught(LinearRegressionNone, [(10, 100.0), (20, 300.0)])
    assert value(sizer.predict(task(0), [], CONTEXT)) == 100


def test_inputs_of_one_size_give_the_mean() -> None:
    assert predicted(taught(LinearRegressionNone, [(5, 100.0), (5, 300.0)]), 900) == 200


def test_a_size_that_is_not_known_gives_the_mean_of_all() -> None:
    points = [(0, 100.0), (1, 200.0), (None, 600.0)]
    sizer = taught(LinearRegressionNone, points)
    assert predicted(sizer, None) == 300
    assert predicted(sizer, 3) == 400, "a record without a size is no point of the line"
    assert predicted(taught(LinearRegressionMax, points), None) == 600
    nothing_but_unknown = taught(LinearRegressionMax, [(None, 100.0), (None, 300.0)])
    assert predicted(nothing_but_unknown, 7) == 300


def test_after_a_failure_the_greater_of_twice_and_learned() -> None:
    """Witt et al. 2019, section III-B: a guess failed, and meanwhile there are records."""
    sizer = taught(LinearRegressionNone, [(1, 3.0 * GB), (2, 4.0 * GB)])
    assert value(sizer.predict(task(3), [GB], CONTEXT)) == 5 * GB
    assert value(sizer.predict(task(3), [4 * GB], CONTEXT)) == 8 * GB


@pytest.mark.parametrize("kind", ALL)
def test_the_answer_follows_from_its_figures(kind: type[LinearRegression]) -> None:
    answer = taught(kind, POINTS).predict(task(10), [], CONTEXT)
    figures = {name: figure for name, figure in answer.why.figures.items() if isinstance(figure, float | int)}
    line = figures["mean_peak"] + figures["slope"] * (figures["input_bytes"] - figures["mean_input"])
    again = max(figures["smallest"], line + figures["offset"])
    assert value(answer) == min(math.ceil(again), figures["limit"])
    assert answer.why.text.startswith("a line through what 4 earlier ones used, at 10 B of input")


SIZES = st.integers(0, 10**12)
CLOUD = st.lists(st.tuples(SIZES, st.floats(1e3, 1e12)), min_size=2, max_size=40)


@given(CLOUD, SIZES)
def test_incremental_equals_batch(points: list[tuple[int, float]], size: int) -> None:
    sizes, peaks = (numpy.array(each, dtype=float) for each in zip(*points, strict=True))
    centred = sizes - sizes.mean()
    slope = (centred @ peaks) / (centred @ centred) if centred.any() else 0.0
    errors = peaks - (peaks.mean() + slope * centred)
    below = errors[errors > 0]
    offsets = {
        LinearRegressionNone: 0.0,
        LinearRegressionMean: math.sqrt(errors @ errors / (len(errors) - 1)),
        LinearRegressionMax: max(0.0, errors.max()),
    }
    scale = peaks.max() + abs(slope) * 1e12
    if numpy.abs(errors).min() > 1e-9 * scale:  # else rounding decides on which side of the line a point lies
        offsets[LinearRegression] = math.sqrt(below @ below / (len(below) - 1)) if len(below) > 1 else 0.0
    line = peaks.mean() + slope * (size - sizes.mean())
    for kind, offset in offsets.items():
        expected = max(peaks.min(), line + offset)
        assert predicted(taught(kind, points), size) == pytest.approx(expected, abs=1e-6 * scale)


@given(CLOUD, SIZES, st.integers(-20, 20))
def test_twice_the_peaks_twice_the_answer(points: list[tuple[int, float]], size: int, power: int) -> None:
    factor = 2.0**power  # exact in binary
    scaled = [(x, factor * peak) for x, peak in points]
    for kind in ALL:
        assert predicted(taught(kind, scaled), size) == factor * predicted(taught(kind, points), size)


@given(CLOUD, SIZES)
def test_offsets_are_never_negative_and_the_greatest_covers_every_record(
    points: list[tuple[int, float]], size: int
) -> None:
    bare = predicted(taught(LinearRegressionNone, points), size)
    for kind in ALL:
        assert predicted(taught(kind, points), size) >= bare
    covering = taught(LinearRegressionMax, points)
    for each, peak in points:
        assert predicted(covering, each) >= peak * (1 - 1e-9) - 1e-3


@given(st.lists(st.tuples(st.none() | SIZES, st.floats(1e3, 1e12)), min_size=2, max_size=30), st.none() | SIZES)
def test_a_restored_state_continues_to_learn(points: list[tuple[int | None, float]], size: int | None) -> None:
    middle = len(points) // 2
    for kind in ALL:
        first = taught(kind, points[:middle])
        second = sizer_of(kind)
        second.restore(first.state())
        for sizer in (first, second):
            for each, peak in points[middle:]:
                sizer.observe(task(each), success(peak))
        query = Query(input_bytes=size)
        assert second.estimator.estimate(query) == first.estimator.estimate(query)


def test_records_are_kept_only_where_the_offset_needs_them() -> None:
    for kind in (LinearRegressionNone, LinearRegressionMean):
        assert taught(kind, POINTS).state()["peaks"] == []


def test_with_very_many_records_the_offset_is_computed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_regression, "ALWAYS_UP_TO", 4)
    sizer = taught(LinearRegressionMax, [*POINTS, (1, 190.0)])
    assert sizer.state()["offsets_at"] == 5, "a thousandth of four is less than one record"
    sizer.restore(sizer.state() | {"offsets_at": 5000, "offsets": [7.0, 7.0]})
    sizer.observe(task(1), success(190.0))
    assert sizer.state()["offsets"] == [7.0, 7.0], "six are not a thousandth more than five thousand"
