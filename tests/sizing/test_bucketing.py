"""Bucketing (Phung and Thain 2024): what it explores with, what it draws, what it gives after a failure."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import KILLS, CannotFit, Context, Prediction, Sizer
from headway.sizing.estimators.bucketing import Bucketing, ExhaustiveBucketing, GreedyBucketing
from headway.sizing.estimators.quantized_bucketing import QuantizedBucketing
from headway.sizing.ways import sizers_of
from tests.sizing.made import maker_of, sizer_of

MB, GB = 10**6, 10**9
LIMITS = Resources(cores=16, memory_bytes=64 * GB, disk_bytes=64 * GB)
CONTEXT = Context(LIMITS)
CORES_KILL = Context(LIMITS, kills=KILLS | {"cores"})
TASK = Task("t", "c", "true", outputs=("o",))
BUCKETING: list[Callable[[str], Sizer]] = [maker_of(GreedyBucketing), maker_of(ExhaustiveBucketing)]


def used(value: float, field: str = "memory_bytes", ending: Ending = Ending.SUCCESS) -> Outcome:
    quality = Quality.EXACT if ending is Ending.SUCCESS else Quality.LOWER_BOUND
    return Outcome("t", 1, ending, 0, 60, Usage(**{field: Measured(value, quality)}))


def trained(sizer: Sizer, peaks: Sequence[float], field: str = "memory_bytes") -> Sizer:
    for peak in peaks:
        sizer.observe(TASK, used(peak, field))
    return sizer


def predicted(answer: Prediction | CannotFit) -> Prediction:
    assert isinstance(answer, Prediction), answer
    return answer


def drawn(sizer: Sizer, failures: Sequence[float] = (), draws: int = 2_000) -> Counter[float | None]:
    """Count the amounts that `draws` tasks get."""
    contexts = (Context(LIMITS, (1, "p", f"task {number}", 1)) for number in range(draws))
    return Counter(predicted(sizer.predict(TASK, failures, context)).value for context in contexts)


@pytest.mark.parametrize("make", BUCKETING)
def test_it_explores_with_little_and_doubles(make: Callable[[str], Sizer]) -> None:
    start = {"cores": 1, "memory_bytes": GB, "disk_bytes": GB}
    hinted = Task("t", "c", "true", outputs=("o",), hints={"memory_bytes": 8 * GB, "disk_bytes": 8 * GB})
    for resource, value in start.items():
        answer = predicted(make(resource).predict(hinted, [], CONTEXT))
        assert (answer.value, answer.why.rule) == (value, "start")
    sizer = trained(make("memory_bytes"), [3 * GB] * 9)
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == GB
    assert predicted(sizer.predict(TASK, [GB], CONTEXT)).value == 2 * GB
    other_start = Context(LIMITS, start={"memory_bytes": 5e8})
    assert predicted(sizer.predict(TASK, [], other_start)).value == 5e8
    sizer.observe(TASK, used(3 * GB))
    assert predicted(sizer.predict(TASK, [], other_start)).value == 3 * GB


@pytest.mark.parametrize("estimator", [GreedyBucketing, ExhaustiveBucketing])
def test_in_the_paper_a_failed_attempt_is_no_record(estimator: type[Bucketing]) -> None:
    sizer = trained(sizers_of(estimator)("memory_bytes"), [3 * GB] * 9)
    sizer.observe(TASK, used(9 * GB, ending=Ending.MEMORY))
    assert predicted(sizer.predict(TASK, [], CONTEXT)).why.rule == "start"


@pytest.mark.parametrize("make", BUCKETING)
def test_buckets_are_drawn_by_their_significance(make: Callable[[str], Sizer]) -> None:
    """Two clear groups, the second later: records 1-10 at 1 GB count 55, records 11-15 at 10 GB count 65."""
    sizer = trained(make("memory_bytes"), [GB] * 10 + [10 * GB] * 5)
    found = drawn(sizer)
    assert found.keys() == {GB, 10 * GB}
    assert found[GB] / 2_000 == pytest.approx(55 / 120, abs=0.04)
    assert drawn(sizer, failures=[GB]).keys() == {10 * GB}
    assert drawn(sizer, failures=[2 * GB]).keys() == {10 * GB}
    assert drawn(sizer, failures=[10 * GB]).keys() == {20 * GB}
    assert isinstance(sizer.predict(TASK, [64 * GB], CONTEXT), CannotFit)


def test_after_a_failure_the_buckets_above_keep_their_proportions() -> None:
    """Groups at 1, 4 and 16 GB of 4 records each: sums of 10, 26 and 42; above 1 GB the draw is 26 to 42."""
    sizer = trained(sizer_of(GreedyBucketing), [GB] * 4 + [4 * GB] * 4 + [16 * GB] * 4)
    assert drawn(sizer)[GB] / 2_000 == pytest.approx(10 / 78, abs=0.03)
    found = drawn(sizer, failures=[GB])
    assert found.keys() == {4 * GB, 16 * GB}
    assert found[4 * GB] / 2_000 == pytest.approx(26 / 68, abs=0.04)


@pytest.mark.parametrize("make", BUCKETING)
def test_the_draw_can_be_recomputed_from_the_figures(make: Callable[[str], Sizer]) -> None:
    sizer = trained(make("memory_bytes"), [GB] * 10 + [10 * GB + 0.5] * 5)
    for number in range(50):
        context = Context(LIMITS, (1, "p", f"task {number}", 1))
        answer = predicted(sizer.predict(TASK, [], context))
        figures = answer.why.figures
        assert figures["draw"] == context.uniform()
        assert float(figures["drawn_from"] or 0) <= context.uniform() < float(figures["drawn_to"] or 0)
        assert answer.value == min(math.ceil(float(figures["representative"] or 0)), float(figures["limit"] or 0))
        assert "GB memory" in answer.why.text


@pytest.mark.parametrize("make", BUCKETING)
def test_equal_peaks_give_that_peak(make: Callable[[str], Sizer]) -> None:
    sizer = trained(make("disk_bytes"), [306 * MB] * 30, "disk_bytes")
    assert drawn(sizer, draws=50) == {306 * MB: 50}
    in_place = Task("t", "c", "true")
    assert predicted(sizer.predict(in_place, [], CONTEXT)).value == 0


@pytest.mark.parametrize("make", [*BUCKETING, maker_of(QuantizedBucketing)])
def test_cores_are_exact_only_where_too_few_end_a_task(make: Callable[[str], Sizer]) -> None:
    sizer = trained(make("cores"), [0.3] * 20, "cores_peak")
    stated = Task("t", "c", "true", hints={"cores": 4})
    assert predicted(sizer.predict(TASK, [], CORES_KILL)).value == 0.3
    assert predicted(sizer.predict(stated, [], CORES_KILL)).value == 0.3
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == 1
    assert predicted(sizer.predict(stated, [], CONTEXT)).value == 4


@pytest.mark.parametrize("make", [*BUCKETING, maker_of(QuantizedBucketing)])
def test_nothing_above_the_machine_is_given(make: Callable[[str], Sizer]) -> None:
    """The records come from a larger machine."""
    sizer = trained(make("memory_bytes"), [100 * GB] * 12)
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == 64 * GB
    assert isinstance(sizer.predict(TASK, [64 * GB], CONTEXT), CannotFit)


@pytest.mark.parametrize("make", BUCKETING)
def test_a_restored_sizer_continues_as_the_original(make: Callable[[str], Sizer]) -> None:
    peaks = [GB * (1 + (7 * number) % 13) / 3 for number in range(40)]
    first, second = trained(make("memory_bytes"), peaks), make("memory_bytes")
    drawn(second, draws=1)
    second.restore(json.loads(json.dumps(first.state())))
    for sizer in (first, second):
        trained(sizer, [2 * GB, 5 * GB])
    assert first.state() == second.state()
    assert drawn(first, draws=200) == drawn(second, draws=200)
    assert len(first.state()["values"]) == len(first.state()["significances"]) == 42


def test_quantized_goes_up_by_halves() -> None:
    sizer = trained(sizer_of(QuantizedBucketing), [GB * number for number in range(1, 10)])
    answer = predicted(sizer.predict(TASK, [], CONTEXT))
    assert (answer.value, answer.why.rule) == (64 * GB, "whole-machine")
    trained(sizer, [10 * GB])
    for failures, value in [([], 5), ([5], 10), ([5, 10], 20), ([7], 10), ([10, 40], 64)]:
        given = [GB * amount for amount in failures]
        assert predicted(sizer.predict(TASK, given, CONTEXT)).value == value * GB
    assert isinstance(sizer.predict(TASK, [64 * GB], CONTEXT), CannotFit)
    trained(sizer, [11 * GB])
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == 6 * GB, "the median itself is in the lower half"
