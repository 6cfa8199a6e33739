"""Percentiles of the peaks so far."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import CannotFit, Context, Prediction
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.base import Query
from headway.sizing.estimators.percentile import Percentile, Percentile50, Percentile95
from tests.sizing.made import sizer_of

GB = 10**9
CONTEXT = Context(Resources(cores=4, memory_bytes=16 * GB, disk_bytes=100 * GB), start={"memory_bytes": GB})
TASK = Task("t", "c", "true", outputs=("o",))

PEAKS = st.lists(st.floats(1, 1e12), min_size=1, max_size=60)


def success(peak: float) -> Outcome:
    return Outcome("t", 1, Ending.SUCCESS, 0, 10, Usage(memory_bytes=Measured(peak, Quality.EXACT)))


def taught(sizer: EstimatedSizer, peaks: list[float]) -> EstimatedSizer:
    for peak in peaks:
        sizer.observe(TASK, success(peak))
    return sizer


def value(answer: Prediction | CannotFit) -> float | None:
    assert isinstance(answer, Prediction), answer
    return answer.value


@pytest.mark.parametrize(
    ("sizer", "peaks", "expected"),
    [
        (Percentile50, [7], 7),
        (Percentile95, [7], 7),
        (Percentile50, [3, 1, 2], 2),
        (Percentile50, [4, 1, 3, 2], 3),  # 2.5, and bytes are whole
        (Percentile95, [300, 100, 200], 290),  # place 1.9 of 0, 1, 2: nine tenths from 200 to 300
        (Percentile95, list(range(1, 102)), 96),  # place 95 of 0 … 100
    ],
)
def test_by_hand(sizer: type[Percentile], peaks: list[float], expected: float) -> None:
    assert value(taught(sizer_of(sizer, "memory_bytes"), peaks).predict(TASK, [], CONTEXT)) == expected


@given(PEAKS)
def test_incremental_equals_batch(peaks: list[float]) -> None:
    for sizer in (Percentile50, Percentile95):
        learned = taught(sizer_of(sizer, "memory_bytes"), peaks).estimator.estimate(Query())
        assert learned is not None
        assert isinstance(learned.value, float)
        assert learned.value == pytest.approx(float(numpy.percentile(peaks, sizer.percent)), rel=1e-12)


@given(PEAKS, st.integers(-20, 20))
def test_twice_the_peaks_twice_the_answer(peaks: list[float], power: int) -> None:
    factor = 2.0**power  # exact in binary
    one = taught(sizer_of(Percentile95, "memory_bytes"), peaks).estimator.estimate(Query())
    scaled = taught(sizer_of(Percentile95, "memory_bytes"), [factor * peak for peak in peaks]).estimator.estimate(
        Query()
    )
    assert one is not None and scaled is not None
    assert isinstance(one.value, float) and scaled.value == factor * one.value


@given(PEAKS, st.data())
def test_a_restored_state_continues_to_learn(peaks: list[float], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(peaks)))
    first = taught(sizer_of(Percentile95, "memory_bytes"), peaks[:middle])
    second = sizer_of(Percentile95, "memory_bytes")
    second.restore(first.state())
    assert taught(second, peaks[middle:]).estimator.estimate(Query()) == taught(
        first, peaks[middle:]
    ).estimator.estimate(Query())


def test_before_the_first_record_the_hint_or_the_start() -> None:
    sizer = sizer_of(Percentile95, "memory_bytes")
    assert value(sizer.predict(TASK, [], CONTEXT)) == GB
    hinted = Task("t", "c", "true", hints={"memory_bytes": 3 * GB})
    assert value(sizer.predict(hinted, [], CONTEXT)) == 3 * GB
    assert value(taught(sizer, [2 * GB]).predict(hinted, [], CONTEXT)) == 2 * GB


def test_after_a_failure_the_greater_of_twice_and_learned() -> None:
    sizer = taught(sizer_of(Percentile50, "memory_bytes"), [3 * GB])
    assert value(sizer.predict(TASK, [GB], CONTEXT)) == 3 * GB
    assert value(sizer.predict(TASK, [3 * GB], CONTEXT)) == 6 * GB
    assert value(sizer.predict(TASK, [12 * GB], CONTEXT)) == 16 * GB
    assert isinstance(sizer.predict(TASK, [16 * GB], CONTEXT), CannotFit)


def test_the_answer_follows_from_its_figures() -> None:
    answer = taught(sizer_of(Percentile95, "memory_bytes"), [100, 200, 300]).predict(TASK, [], CONTEXT)
    figures = answer.why.figures
    assert figures == {"percent": 95, "below": 200, "above": 300, "part": 0.9, "records": 3, "limit": 16 * GB}
    assert answer.why.text == "the 95th percentile of what 3 earlier ones used is 290 B memory"


def test_cores_are_whole_and_only_rounded_up_where_too_few_end_a_task() -> None:
    usage = Usage(cores_peak=Measured(1.2, Quality.EXACT))
    sizer = sizer_of(Percentile50, "cores")
    sizer.observe(TASK, Outcome("t", 1, Ending.SUCCESS, 0, 10, usage))
    assert value(sizer.predict(TASK, [], CONTEXT)) == 1
    strict = Context(CONTEXT.limits, kills=frozenset({"cores"}))
    assert value(sizer.predict(TASK, [], strict)) == 2
    assert value(sizer.predict(Task("t", "c", "true", hints={"cores": 3}), [], CONTEXT)) == 3


def test_a_task_without_a_directory_of_its_own_holds_no_disk() -> None:
    sizer = sizer_of(Percentile50, "disk_bytes")
    usage = Usage(disk_bytes=Measured(GB, Quality.EXACT))
    sizer.observe(TASK, Outcome("t", 1, Ending.SUCCESS, 0, 10, usage))
    assert value(sizer.predict(TASK, [], CONTEXT)) == GB
    assert value(sizer.predict(Task("t", "c", "true"), [], CONTEXT)) == 0
