"""The rules of KS+ and k-Segments in the benchmark of memory over time, worked by hand."""

from __future__ import annotations

import pytest
from benchmarks.memory_over_time import (
    ByCategory,
    KSegments,
    KSPlus,
    LadderFlat,
    LadderInSteps,
    Steps,
    flat_with,
    replayed,
    rising_segments,
)
from benchmarks.memory_over_time import Spent as Held

from headway.model.resources import Resources
from headway.model.task_log import LoggedTask

GB = 1e9
MACHINE = Resources(cores=8, memory_bytes=64 * 10**9)


def logged(number: int, profile: tuple[float, ...], run_s: float = 80.0, size: int = 100) -> LoggedTask:
    used = {"memory_bytes": max(profile)}
    return LoggedTask(str(number), "w/p", run_s, used, {"memory_bytes": 16 * GB}, size, profile=profile)


def test_segments_end_where_memory_rises_and_the_cheapest_neighbours_are_merged() -> None:
    assert rising_segments([1, 1, 5, 3, 8, 9], 4) == ([2, 2, 1, 1], [1, 5, 8, 9])
    assert rising_segments([1, 1, 5, 3, 8, 9], 3) == ([2, 2, 2], [1, 5, 9])
    assert rising_segments([4, 2], 3) == ([2, 10, 10], [4, 4, 4])


def test_ks_plus_gives_a_tenth_more_and_steps_up_early() -> None:
    model = KSPlus()
    task = logged(0, (1 * GB, 2 * GB, 3 * GB, 4 * GB))
    assert model.predict(task) is None
    model.learn(task)
    model.learn(task)
    steps = model.predict(task)
    assert steps is not None
    assert steps.ends == pytest.approx([17.0, 34.0, 51.0, 68.0])
    assert steps.amounts == pytest.approx([1.1 * GB, 2.2 * GB, 3.3 * GB, 4.4 * GB])
    later = model.after_failure(steps, 10.0)  # in the first segment, which then ends there; the others move along
    assert later.ends == pytest.approx([10.0, 20.0, 30.0, 40.0]) and later.amounts == steps.amounts
    assert model.after_failure(steps, 75.0).amounts[-1] == pytest.approx(1.2 * 4.4 * GB)


@pytest.mark.parametrize(("partial", "after"), [(False, [1, 4, 3, 4]), (True, [1, 4, 6, 8])])
def test_k_segments_doubles_one_step_or_all_later_ones(partial: bool, after: list[float]) -> None:
    model = KSegments(partial)
    for number in range(2):
        model.learn(logged(number, (1 * GB, 2 * GB, 3 * GB, 4 * GB)))
    steps = model.predict(logged(2, (1 * GB,)))
    assert steps == Steps([20.0, 40.0, 60.0, 80.0], [1 * GB, 2 * GB, 3 * GB, 4 * GB])
    assert model.after_failure(steps, 30.0).amounts == [amount * GB for amount in after]


def test_a_failed_attempt_is_charged_all_that_it_held() -> None:
    """The third task rises early: it fails after 30 s with 1 GB, again with 2 GB, and succeeds with 4 GB."""
    tasks = [logged(number, (1 * GB, 1 * GB, 1 * GB, 4 * GB)) for number in range(2)]
    tasks.append(logged(2, (1 * GB, 3 * GB, 3 * GB, 4 * GB)))
    spent = replayed(tasks, ByCategory(lambda: KSegments(partial=True)), MACHINE)
    as_requested = 2 * 80 * 16
    assert spent.failed == 2
    assert spent.gb_hours * 3600 == pytest.approx(as_requested + 30 * 1 + (20 * 1 + 10 * 2) + 20 * (1 + 4 + 4 + 16))


def test_steps_under_a_ladder_hold_less_than_the_ladder() -> None:
    tasks = [logged(number, (1 * GB, 1 * GB, 2 * GB, 4 * GB)) for number in range(40)]
    flat, steps = (
        replayed(tasks, way, MACHINE) for way in (LadderFlat(MACHINE, 0.03), LadderInSteps(MACHINE, 0.03, told=True))
    )
    assert flat.failed == steps.failed == 0
    assert 0.4 * flat.gb_hours < steps.gb_hours < 0.8 * flat.gb_hours


def test_the_ladder_between_two_settings_of_its_dial() -> None:
    assert flat_with([Held(100.0, 0), Held(80.0, 10)], 5) == 90.0
    assert flat_with([Held(100.0, 0), Held(80.0, 10)], 99) == 80.0
