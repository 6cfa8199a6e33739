"""min-waste, max-throughput, and max-seen with the whole machine first, as in Phung and Thain 2024."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import KILLS, CannotFit, Context, Prediction, Sizer
from headway.sizing.estimated import EstimatedSizer
from headway.sizing.estimators.first_allocation import MaxThroughput, MinWaste
from headway.sizing.estimators.maximum import MaxSeen
from tests.sizing.made import maker_of, sizer_of

MB, GB = 10**6, 10**9
LIMITS = Resources(cores=16, memory_bytes=64 * GB, disk_bytes=64 * GB)
CONTEXT = Context(LIMITS)
TASK = Task("t", "c", "true", outputs=("o",), hints={"memory_bytes": 3 * GB})
FIRST: list[Callable[[str], Sizer]] = [maker_of(MinWaste), maker_of(MaxThroughput)]


def trained(sizer: Sizer, peaks: Sequence[float], run_s: float = 60, field: str = "memory_bytes") -> Sizer:
    for peak in peaks:
        usage = Usage(**{field: Measured(peak, Quality.EXACT)}, wall_s=Measured(run_s, Quality.EXACT))
        sizer.observe(TASK, Outcome("t", 1, Ending.SUCCESS, 0, run_s, usage))
    return sizer


def predicted(answer: Prediction | CannotFit) -> Prediction:
    assert isinstance(answer, Prediction), answer
    return answer


@pytest.mark.parametrize("make", FIRST)
def test_the_whole_machine_until_there_are_ten_records(make: Callable[[str], Sizer]) -> None:
    sizer = trained(make("memory_bytes"), [GB] * 9)
    answer = predicted(sizer.predict(TASK, [], CONTEXT))
    assert (answer.value, answer.why.rule) == (64 * GB, "whole-machine")
    assert predicted(trained(sizer, [GB]).predict(TASK, [], CONTEXT)).value == GB


@pytest.mark.parametrize(("make", "first"), [(maker_of(MinWaste), 5), (maker_of(MaxThroughput), 2)])
def test_first_the_best_peak_then_the_greatest_then_everything(make: Callable[[str], Sizer], first: int) -> None:
    """The hand-worked case of tests/kernels in which the two disagree."""
    sizer = trained(make("memory_bytes"), [2 * GB] * 5 + [5 * GB] * 4 + [10 * GB])
    answer = predicted(sizer.predict(TASK, [], CONTEXT))
    assert (answer.value, answer.why.rule) == (first * GB, sizer.name)
    assert (answer.why.figures["best"], answer.why.figures["greatest"]) == (first * GB, 10 * GB)
    assert predicted(sizer.predict(TASK, [first * GB], CONTEXT)).value == 10 * GB
    assert predicted(sizer.predict(TASK, [first * GB, 10 * GB], CONTEXT)).value == 64 * GB
    assert isinstance(sizer.predict(TASK, [first * GB, 10 * GB, 64 * GB], CONTEXT), CannotFit)


def test_run_times_count() -> None:
    """Large tasks run so long that their failures cost more memory than is saved on the others."""
    sizer = trained(sizer_of(MinWaste), [6 * GB] * 5, run_s=1)
    trained(sizer, [10 * GB] * 5, run_s=99)
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == 10 * GB
    sizer = trained(sizer_of(MinWaste), [6 * GB] * 5, run_s=99)
    trained(sizer, [10 * GB] * 5, run_s=1)
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == 6 * GB


@pytest.mark.parametrize("make", FIRST)
def test_runs_that_took_no_time(make: Callable[[str], Sizer]) -> None:
    sizer = trained(make("memory_bytes"), [GB] * 9 + [10 * GB], run_s=0)
    assert predicted(sizer.predict(TASK, [], CONTEXT)).value == GB


@pytest.mark.parametrize(("bucket", "expected"), [(250 * MB, 500 * MB), (1, 306 * MB), (1_000 * MB, GB)])
def test_max_seen_rounds_up_to_its_step(bucket: int, expected: int) -> None:
    sizer = trained(EstimatedSizer(MaxSeen(bucket), "memory_bytes"), [306 * MB, 10 * MB])
    answer = predicted(sizer.predict(TASK, [], CONTEXT))
    assert (answer.value, answer.why.figures["bucket"]) == (expected, bucket)


def test_max_seen_needs_a_positive_step() -> None:
    with pytest.raises(InputError, match="use 1 for no rounding"):
        MaxSeen(step=0)


def test_max_seen_rounds_cores_up_where_too_few_end_a_task() -> None:
    sizer = trained(sizer_of(MaxSeen, "cores"), [2.3], field="cores_peak")
    task = Task("t", "c", "true")
    assert predicted(sizer.predict(task, [], CONTEXT)).value == 2
    assert predicted(sizer.predict(task, [], Context(LIMITS, kills=KILLS | {"cores"}))).value == 3
