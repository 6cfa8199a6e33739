"""`feedback-loop` on hand-worked numbers (Zunker 2021, section 5.1)."""

from __future__ import annotations

from math import ceil, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending
from headway.sizing.agents.feedback_loop import FeedbackLoop
from tests.sizing.agent_world import GB, LIMITS, TASK, asked, outcome

PEAKS = [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0]  # in GB: mean 2.4, variance 1.24
CORES = [1.0, 2.0] * 5


def trained(**options: object) -> FeedbackLoop:
    allocator = FeedbackLoop(**options)
    for peak, busy in zip(PEAKS, CORES, strict=True):
        allocator.observe(TASK, asked(allocator).ticket, outcome(busy=busy, peak=peak * GB))
    return allocator


def test_training_gets_the_whole_machine() -> None:
    allocator = FeedbackLoop()
    for _ in range(10):
        answer = asked(allocator)
        assert (answer.resources.cores, answer.resources.memory_bytes) == (LIMITS.cores, LIMITS.memory_bytes)
        assert answer.why["cores"].rule == "training"
        allocator.observe(TASK, answer.ticket, outcome())
    assert asked(allocator).why["cores"].rule == "mean-busy"


def test_after_training_means_and_a_deviation() -> None:
    answer = asked(trained())
    assert answer.resources.cores == 2.0  # 1.5, rounded
    assert answer.resources.memory_bytes == pytest.approx((2.4 + sqrt(1.24)) * GB, abs=1)


def test_after_a_kill_the_most_seen_then_twice_that_then_doubling() -> None:
    allocator = trained()
    given = asked(allocator).resources.memory_bytes
    for expected in (4 * GB, 8 * GB, 16 * GB, 32 * GB):
        answer = asked(allocator, failures=(float(given),), attempt=2)
        assert answer.resources.memory_bytes == expected
        given = expected


def test_runs_after_training_teach_nothing() -> None:
    allocator = trained()
    before = asked(allocator).resources
    for _ in range(20):
        allocator.observe(TASK, asked(allocator).ticket, outcome(busy=8.0, peak=30 * GB))
    assert asked(allocator).resources == before


def test_a_run_may_have_several_tasks_of_a_category() -> None:
    allocator = trained(tasks_a_run={"c": 3})
    assert asked(allocator).why["cores"].rule == "training"
    for _ in range(20):
        allocator.observe(TASK, asked(allocator).ticket, outcome())
    assert asked(allocator).why["cores"].rule == "mean-busy"


def test_attempts_sized_by_another_policy_are_no_training() -> None:
    allocator = FeedbackLoop()
    for _ in range(20):
        allocator.observe(TASK, {}, outcome())
    assert asked(allocator).why["cores"].rule == "training"


def test_a_kill_in_training_teaches_no_peak() -> None:
    allocator = FeedbackLoop(training=1)
    allocator.observe(TASK, asked(allocator).ticket, outcome(peak=GB, ending=Ending.MEMORY))
    assert asked(allocator).why["cores"].rule == "training"


@given(st.lists(st.floats(1e6, 30e9), min_size=10, max_size=10))
def test_never_above_the_limits_and_more_after_a_failure(peaks: list[float]) -> None:
    allocator = FeedbackLoop()
    for peak in peaks:
        allocator.observe(TASK, asked(allocator).ticket, outcome(peak=peak))
    given = asked(allocator).resources
    mean = sum(peaks) / 10
    deviation = sqrt(sum((peak - mean) ** 2 for peak in peaks) / 10)
    assert given.memory_bytes == pytest.approx(min(ceil(mean + deviation), LIMITS.memory_bytes), rel=1e-6, abs=2)
    if given.memory_bytes < LIMITS.memory_bytes:
        again = asked(allocator, failures=(float(given.memory_bytes),), attempt=2).resources
        assert given.memory_bytes < again.memory_bytes <= LIMITS.memory_bytes
