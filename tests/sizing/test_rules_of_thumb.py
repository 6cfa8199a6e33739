"""Rules of thumb in use today: per-process-max, peak-plus-20, ponder."""

from __future__ import annotations

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators import ponder
from headway.sizing.estimators.base import Estimator
from headway.sizing.estimators.maximum import PeakPlus20, PerProcessMax
from headway.sizing.estimators.ponder import Ponder
from tests.sizing.made import sizer_of

MB, GB, GIB = 10**6, 10**9, 2**30
CONTEXT = Context(Resources(cores=4, memory_bytes=16 * GIB, disk_bytes=100 * GIB))
ALL = [PerProcessMax, PeakPlus20, Ponder]


def task(size: int | None = None, **hints: float) -> Task:
    return Task("t", "c", "true", outputs=("o",), input_bytes=size, hints=hints)


def used(**figures: float) -> Outcome:
    usage = Usage(**{name: Measured(value, Quality.EXACT) for name, value in figures.items()})
    return Outcome("t", 1, Ending.SUCCESS, 0, 10, usage)


def taught(kind: type[Estimator], points: list[tuple[int | None, float]]) -> EstimatedSizer:
    sizer = sizer_of(kind, "memory_bytes")
    for size, peak in points:
        sizer.observe(task(size), used(memory_bytes=peak))
    return sizer


def value(answer: Prediction | CannotFit) -> float | None:
    assert isinstance(answer, Prediction), answer
    return answer.value


@pytest.mark.parametrize("kind", ALL)
def test_before_the_first_record_what_the_workflow_asks_for(kind: type[Estimator]) -> None:
    assert value(sizer_of(kind, "memory_bytes").predict(task(memory_bytes=3 * GB), [], CONTEXT)) == 3 * GB
    assert value(sizer_of(kind, "memory_bytes").predict(task(), [], CONTEXT)) == 4 * GIB


@pytest.mark.parametrize("kind", ALL)
def test_cores_are_the_most_seen_in_whole_ones(kind: type[Estimator]) -> None:
    sizer = sizer_of(kind, "cores")
    for peak in (1.2, 1.7, 0.4):
        sizer.observe(task(), used(cores_peak=peak))
    assert value(sizer.predict(task(), [], CONTEXT)) == 2
    assert value(sizer.predict(task(cores=1), [], CONTEXT)) == 1


class TestPerProcessMax:
    def test_the_maximum_as_it_is(self) -> None:
        sizer = taught(PerProcessMax, [(None, 100.0 * MB), (None, 260.0 * MB + 0.5), (None, 20.0 * MB)])
        answer = sizer.predict(task(memory_bytes=3 * GB), [], CONTEXT)
        assert value(answer) == 260 * MB + 1, "half a byte is not less than was used"
        assert answer.why.figures == {"maximum": 260 * MB + 0.5, "records": 3, "limit": 16 * GIB}

    def test_twice_what_ran_out(self) -> None:
        sizer = taught(PerProcessMax, [(None, float(GB))])
        assert value(sizer.predict(task(), [GB], CONTEXT)) == 2 * GB


class TestPeakPlus20:
    @pytest.mark.parametrize(
        ("peak_gib", "expected_gib"), [(0.1, 1), (0.8, 1), (0.84, 2), (2.5, 3), (2.51, 4), (13, 16), (15, 16)]
    )
    def test_a_fifth_more_in_whole_gib(self, peak_gib: float, expected_gib: float) -> None:
        sizer = taught(PeakPlus20, [(None, peak_gib * GIB)])
        assert value(sizer.predict(task(), [], CONTEXT)) == expected_gib * GIB

    @pytest.mark.parametrize(("given_gib", "expected_gib"), [(4, 6), (3, 5), (0.25, 2), (12, 16)])
    def test_half_as_much_again_after_running_out(self, given_gib: float, expected_gib: float) -> None:
        sizer = taught(PeakPlus20, [(None, 1.5 * GIB)])  # which alone would get 2 GiB
        answer = sizer.predict(task(), [given_gib * GIB], CONTEXT)
        assert value(answer) == expected_gib * GIB
        figures = {name: figure for name, figure in answer.why.figures.items() if isinstance(figure, float | int)}
        grown = figures["unit"] * math.ceil(figures["factor"] * figures["given"] / figures["unit"])
        assert value(answer) == min(max(grown, figures["at_least"]), figures["limit"])

    def test_at_the_limit_it_cannot_fit(self) -> None:
        assert isinstance(sizer_of(PeakPlus20, "memory_bytes").predict(task(), [16 * GIB], CONTEXT), CannotFit)

    def test_time_is_doubled(self) -> None:
        assert value(sizer_of(PeakPlus20, "walltime_s").predict(task(), [600], CONTEXT)) == 1200


class TestPonder:
    def test_without_correlation_the_maximum_and_128_mb(self) -> None:
        points: list[tuple[int | None, float]] = [(1, 1.0 * GB), (2, 2.0 * GB), (3, 1.0 * GB)]
        assert value(taught(Ponder, points).predict(task(2), [], CONTEXT)) == 2 * GB + 128 * MB

    def test_a_falling_line_is_no_correlation_to_trust(self) -> None:
        points: list[tuple[int | None, float]] = [(1, 3.0 * GB), (2, 2.0 * GB), (3, 1.0 * GB)]
        assert value(taught(Ponder, points).predict(task(3), [], CONTEXT)) == 3 * GB + 128 * MB

    def test_a_size_that_is_not_known(self) -> None:
        points: list[tuple[int | None, float]] = [(10, 1.0 * GB), (20, 2.0 * GB), (None, 3.0 * GB)]
        assert value(taught(Ponder, points).predict(task(), [], CONTEXT)) == 3 * GB + 128 * MB

    def test_on_a_line_the_reserve_is_128_mb(self) -> None:
        sizer = taught(Ponder, [(size, size * 0.1 * GB) for size in range(1, 21)])
        assert value(sizer.predict(task(7), [], CONTEXT)) == pytest.approx(0.7 * GB + 128 * MB, abs=2)
        assert value(sizer.predict(task(40), [], CONTEXT)) == pytest.approx(4 * GB + 128 * MB, abs=2), "beyond them"

    def test_it_stays_within_what_was_seen(self) -> None:
        sizer = taught(Ponder, [(10, 1.0 * GB), (20, 3.0 * GB)])
        assert value(sizer.predict(task(0), [], CONTEXT)) == pytest.approx(1 * GB + 128 * MB, abs=2)

    def test_underestimates_weigh_fifty_times(self) -> None:
        """Two tasks at 0 that used 0 and 1, two at 1 that used 1 and 2: the line through each pair's weighted mean,
        (1·0 + 50·1) / 51, with the correlation 1 / sqrt 2."""
        correlation, intercept, slope = ponder._fit(array("d", [0, 0, 1, 1]), array("d", [0, 1, 1, 2]))
        assert correlation == pytest.approx(math.sqrt(0.5))
        assert intercept == pytest.approx(50 / 51)
        assert slope == pytest.approx(1)

    def test_the_spread_counts_what_is_near(self) -> None:
        """At 0, of the errors -1 and 1 at 0, and 0 at 1, the last counts 0.007 only, as long as there are but three."""
        sizes, peaks = array("d", [0, 0, 1]), array("d", [-1, 1, 0])
        near, far = 1.007, 0.007
        freedom = (2 * near + far) - (2 * near**2 + far**2) / (2 * near + far)
        assert ponder._spread_near(0.0, sizes, peaks, 0.0, 0.0) == pytest.approx(math.sqrt(2 * near / freedom))
        assert ponder._spread_near(5.0, array("d", [5, 5]), array("d", [1, 1]), 0.0, 0.0) == 0.0

    def test_twice_the_spread_where_that_is_more(self) -> None:
        points: list[tuple[int | None, float]] = [
            (size, (size + wobble) * 0.1 * GB) for size in range(1, 31) for wobble in (0, 6)
        ]
        answer = taught(Ponder, points).predict(task(15), [], CONTEXT)
        figures = {name: figure for name, figure in answer.why.figures.items() if isinstance(figure, float | int)}
        assert figures["reserve"] == 2 * figures["spread"] > 128 * MB
        line = figures["intercept"] + figures["slope"] * figures["input_bytes"]
        assert value(answer) == math.ceil(max(figures["smallest"], min(line, figures["greatest"])) + figures["reserve"])

    def test_only_the_last_thousand_make_the_line(self) -> None:
        sizer = taught(Ponder, [(1, 5.0 * GB)] + [(size, 2.0 * size) for size in range(1, 1001)])
        state = sizer.state()
        assert len(state["sizes"]) == len(state["peaks"]) == ponder.KEPT
        assert (state["sizes"][0], state["peaks"][0]) == (1, 2)
        assert (state["records"], state["greatest"]) == (1001, 5 * GB)

    @given(
        st.lists(st.tuples(st.integers(0, 10**10), st.floats(1e6, 1e11)), min_size=3, max_size=30),
        st.floats(-0.5, 0.5),
        st.floats(-1e10, 1e10),
    )
    def test_no_other_line_costs_less(self, points: list[tuple[int, float]], tilt: float, lift: float) -> None:
        sizes, peaks = (array("d", each) for each in zip(*points, strict=True))
        correlation, intercept, slope = ponder._fit(sizes, peaks)

        def cost(intercept: float, slope: float) -> float:
            errors = [peak - intercept - slope * size for size, peak in points]
            return math.fsum((50 if error > 0 else 1) * error**2 for error in errors)

        if correlation:
            assert cost(intercept, slope) <= cost(intercept + lift, slope + tilt) * (1 + 1e-9)
