"""Each sizer on hand-worked cases."""

from __future__ import annotations

import pytest

from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Allocation, CannotFit, Context, Prediction
from headway.sizing.estimators.base import Estimator
from headway.sizing.estimators.baselines import User, WholeMachine
from headway.sizing.estimators.maximum import MaxSeen
from headway.sizing.per_resource import PerResource
from tests.sizing.made import maker_of, sizer_of

MB, GB = 10**6, 10**9
CONTEXT = Context(Resources(cores=4, memory_bytes=16 * GB, disk_bytes=100 * GB))
TASK = Task("t", "c", "true", outputs=("o",))


def used(ending: Ending = Ending.SUCCESS, quality: Quality = Quality.EXACT, **figures: float) -> Outcome:
    return Outcome("t", 1, ending, 0, 1, Usage(**{name: Measured(value, quality) for name, value in figures.items()}))


def value(answer: Prediction | CannotFit) -> float | None:
    assert isinstance(answer, Prediction), answer
    return answer.value


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({}, (1, 4 * GB, 25 * GB, None)),
        ({"cores": 2}, (2, 8 * GB, 50 * GB, None)),
        ({"memory_bytes": 1 * GB, "walltime_s": 60}, (1, 1 * GB, 25 * GB, None)),
    ],
)
@pytest.mark.parametrize("sizer", [User, MaxSeen])
def test_without_a_record(sizer: type[Estimator], hints: dict[str, float], expected: tuple[float, ...]) -> None:
    task = Task("t", "c", "true", outputs=("o",), hints=hints)
    names = ("cores", "memory_bytes", "disk_bytes", "walltime_s")
    assert tuple(value(sizer_of(sizer, name).predict(task, [], CONTEXT)) for name in names) == expected


def test_a_task_without_a_directory_of_its_own_holds_no_disk() -> None:
    assert value(sizer_of(MaxSeen, "disk_bytes").predict(Task("t", "c", "true"), [], CONTEXT)) == 0


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [([1 * MB], 250 * MB), ([250 * MB], 250 * MB), ([251 * MB], 500 * MB), ([900 * MB, 20 * MB], GB)],
)
def test_max_seen_rounds_memory_up(peaks: list[float], expected: float) -> None:
    sizer = sizer_of(MaxSeen, "memory_bytes")
    for peak in peaks:
        sizer.observe(TASK, used(memory_bytes=peak))
    assert value(sizer.predict(TASK, [], CONTEXT)) == expected


@pytest.mark.parametrize(("peak", "expected"), [(0.2, 1), (1.1, 1), (1.6, 2), (3.9, 4)])
def test_max_seen_learns_whole_cores(peak: float, expected: float) -> None:
    sizer = sizer_of(MaxSeen, "cores")
    sizer.observe(TASK, used(cores_peak=peak))
    assert value(sizer.predict(TASK, [], CONTEXT)) == expected
    stated = Task("t", "c", "true", hints={"cores": 0.5})
    assert value(sizer.predict(stated, [], CONTEXT)) == 0.5


def test_what_was_learned_outranks_the_hint() -> None:
    sizer = sizer_of(MaxSeen, "memory_bytes")
    sizer.observe(TASK, used(memory_bytes=100 * MB))
    assert value(sizer.predict(Task("t", "c", "true", hints={"memory_bytes": 8 * GB}), [], CONTEXT)) == 250 * MB


def test_after_a_failure_the_greater_of_twice_and_learned() -> None:
    sizer = sizer_of(MaxSeen, "memory_bytes")
    sizer.observe(TASK, used(memory_bytes=3 * GB))
    assert value(sizer.predict(TASK, [0.5 * GB], CONTEXT)) == 3 * GB
    assert value(sizer.predict(TASK, [2 * GB], CONTEXT)) == 4 * GB
    assert value(sizer.predict(TASK, [12 * GB], CONTEXT)) == 16 * GB
    assert isinstance(sizer.predict(TASK, [12 * GB, 16 * GB], CONTEXT), CannotFit)


def test_a_failed_attempt_teaches_no_peak() -> None:
    sizer = sizer_of(MaxSeen, "memory_bytes")
    sizer.observe(TASK, used(Ending.MEMORY, Quality.LOWER_BOUND, memory_bytes=9 * GB))
    assert sizer.state()["records"] == 0


def test_whole_machine() -> None:
    assert value(sizer_of(WholeMachine, "memory_bytes").predict(TASK, [], CONTEXT)) == 16 * GB
    assert value(sizer_of(WholeMachine, "walltime_s").predict(TASK, [], CONTEXT)) is None
    assert isinstance(sizer_of(WholeMachine, "memory_bytes").predict(TASK, [16 * GB], CONTEXT), CannotFit)


def test_categories_learn_apart_and_a_state_can_be_restored() -> None:
    allocator = PerResource(maker_of(MaxSeen))
    allocator.observe(TASK, {}, used(memory_bytes=100 * MB, disk_bytes=1, cores_peak=1, wall_s=1))
    other = Task("u", "other", "true", outputs=("p",))
    again = PerResource(maker_of(MaxSeen))
    again.restore(allocator.state())
    for each in (allocator, again):
        mine, theirs = each.allocate(TASK, {}, CONTEXT), each.allocate(other, {}, CONTEXT)
        assert isinstance(mine, Allocation) and isinstance(theirs, Allocation)
        assert mine.resources.memory_bytes == 250 * MB
        assert theirs.resources.memory_bytes == 4 * GB


def test_gpus_and_extras_are_as_hinted_or_cannot_fit() -> None:
    allocator = PerResource(maker_of(User))
    here = Context(Resources(cores=4, memory_bytes=GB, gpus=1, extras={"licence": 2}))
    task = Task("t", "c", "true", hints={"gpus": 1, "licence": 2})
    answer = allocator.allocate(task, {}, here)
    assert isinstance(answer, Allocation)
    assert (answer.resources.gpus, answer.resources.extras) == (1, {"licence": 2})
    refused = allocator.allocate(task, {}, CONTEXT)
    assert isinstance(refused, CannotFit) and refused.resource == "gpus"


def test_draws_are_determined_by_the_question() -> None:
    one, same, other = (Context(CONTEXT.limits, (1, "p", task, 1)) for task in ("t", "t", "u"))
    assert one.uniform() == same.uniform() != other.uniform()
