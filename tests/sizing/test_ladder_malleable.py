"""`ladder-malleable` chooses cores by how many were busy."""

from __future__ import annotations

import json
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.task import Task
from headway.sizing.agents.ladder_malleable import LadderMalleable, cheapest_cores, serial_share
from headway_papers.malleable_work import MalleableWork
from tests.sizing.agent_world import GB, TASK, asked, outcome


def learned(work: MalleableWork, attempts: int = 12, task: Task = TASK, first_busy: float | None = None) -> list[float]:
    """Return the cores of each attempt. `first_busy`: how many were busy in the first, on a loaded machine."""
    allocator = LadderMalleable()
    found: list[float] = []
    for number in range(attempts):
        answer = asked(allocator, task, name=str(number))
        cores = answer.resources.cores
        found.append(cores)
        busy = first_busy if first_busy and number == 0 else work.busy_cores(cores)
        done = outcome(work.run_s(cores), busy, work.memory_bytes)
        allocator.observe(task, answer.ticket, done)
    return found


@given(st.floats(0.01, 1.0), st.integers(2, 64))
def test_the_serial_share_is_recovered(serial: float, cores: int) -> None:
    work = MalleableWork(100.0, 1.0 - serial, GB)
    assert serial_share(cores, work.busy_cores(cores)) == pytest.approx(serial, rel=1e-6)


def test_cores_are_three_quarters_of_the_limit_of_the_speedup() -> None:
    assert learned(MalleableWork(100.0, 0.75, GB // 100))[-1] == 3.0
    assert learned(MalleableWork(100.0, 0.0, GB))[-1] == 1.0


def test_cores_at_most_double_from_attempt_to_attempt() -> None:
    assert learned(MalleableWork(100.0, 1.0, GB))[:5] == [2.0, 4.0, 8.0, 8.0, 8.0]  # of 8


def test_a_task_of_one_core_is_tried_with_two() -> None:
    alone = Task("t", "c", "true", outputs=("o",), hints={"cores": 1.0})
    assert learned(MalleableWork(100.0, 0.0, GB), task=alone)[:2] == [2.0, 1.0]


def test_a_task_that_came_down_to_one_core_is_tried_with_two_again() -> None:
    found = learned(MalleableWork(100.0, 0.75, GB // 100), 400, first_busy=1.0)
    assert found[:2] == [2.0, 1.0], "it was taken for serial"
    assert found[-1] == 3.0, "and is not"


def test_two_cores_are_tried_more_and_more_rarely() -> None:
    found = learned(MalleableWork(100.0, 0.0, GB), 1600)
    tried = [number for number, cores in enumerate(found) if cores == 2]
    assert set(found) == {1.0, 2.0} and found == learned(MalleableWork(100.0, 0.0, GB), 1600)
    assert len([number for number in tried if number < 400]) > len([number for number in tried if number >= 1200])
    assert 5 <= len(tried) <= 40  # of attempts squared over 32


def test_a_task_that_holds_much_memory_gets_more_cores() -> None:
    light, heavy = (learned(MalleableWork(100.0, 0.65, memory), 30)[-1] for memory in (GB // 10, 29 * GB))
    assert (light, heavy) == (2.0, 4.0)  # 0.75 / 0.35, and sqrt(0.65 / 0.35 · 29 / 32 · 8)


@given(st.floats(0.01, 0.99), st.floats(0.001, 1), st.integers(2, 64))
def test_no_other_number_of_cores_is_cheaper(serial: float, memory_share: float, machine: int) -> None:
    def cost(cores: float) -> float:
        return (cores / machine + memory_share) * (serial + (1 - serial) / cores)

    best = cheapest_cores(serial, memory_share, machine)
    assert all(cost(best) <= cost(cores) * (1 + 1e-9) for cores in (best / 2, 0.9 * best, 1.1 * best, 2 * best))


def test_memory_is_learned_as_by_the_ladder() -> None:
    allocator = LadderMalleable()
    for number in range(12):
        answer = asked(allocator, name=str(number))
        allocator.observe(TASK, answer.ticket, outcome(peak=GB))
    answer = asked(allocator)
    assert answer.resources.memory_bytes < 2 * GB
    assert answer.why["memory_bytes"].policy == "ladder"


def test_a_run_of_milliseconds_teaches_nothing() -> None:
    allocator = LadderMalleable()
    allocator.observe(TASK, asked(allocator).ticket, outcome(0.1, busy=0.2))
    assert asked(allocator).why["cores"].rule == "first"


EIGHT = Task("t", "c", "true", outputs=("o",), hints={"cores": 8.0, "memory_bytes": 1.0 * GB})


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("always_busy", [False, True])
@pytest.mark.parametrize("request_of", [TASK, EIGHT])
def test_threads_that_do_not_make_it_faster_get_no_cores(threads: int, always_busy: bool, request_of: Task) -> None:
    """A program starts only so many threads, or memory keeps only so many of them from waiting."""
    work = MalleableWork(100.0, 1.0, GB // 100, most_threads=threads, always_busy=always_busy)
    found = learned(work, 24, task=request_of)
    assert threads / 2 < found[-1] <= 1.5 * threads, "near enough"
    assert sum(cores > 2 * threads for cores in found) <= 3, "each step that does not pay is taken once"


def test_a_program_that_waits_busily_does_not_get_the_machine() -> None:
    serial = MalleableWork(100.0, 0.0, GB // 100, always_busy=True)
    assert learned(serial, 24)[-1] == 1.0
    assert learned(serial, 24, task=EIGHT)[-1] == 1.0
    assert learned(MalleableWork(100.0, 0.8, GB // 100, always_busy=True), 24)[-1] == 4.0, (
        "eight are 1.33 times as fast"
    )


@pytest.mark.parametrize("seed", range(5))
def test_run_times_of_different_tasks_tell_it_too(seed: int) -> None:
    """Tasks that run once each, some ten times as long as others, of a program that waits busily."""
    allocator, draw = LadderMalleable(), Random(seed)
    found = []
    for number in range(200):
        answer = asked(allocator, name=str(number))
        cores, seconds = answer.resources.cores, 100.0 * 10 ** draw.uniform(-0.5, 0.5)
        found.append(cores)
        allocator.observe(TASK, answer.ticket, outcome(seconds, cores, GB // 100, task=str(number)))
    assert fmean(found[100:]) < 2.5


def test_what_did_not_pay_is_tried_again_and_believed() -> None:
    allocator = LadderMalleable()
    slow, fast = (MalleableWork(100.0, 1.0, GB // 100, most_threads=most) for most in (2, 8))
    found = []
    for number in range(1500):
        work = slow if number < 50 else fast
        answer = asked(allocator, name=str(number))
        found.append(answer.resources.cores)
        done = outcome(work.run_s(found[-1]), work.busy_cores(found[-1]), work.memory_bytes)
        allocator.observe(TASK, answer.ticket, done)
    assert found[49] == 2.0 and found[-1] == 8.0


def test_why_says_which_step_did_not_pay() -> None:
    allocator = LadderMalleable()
    work = MalleableWork(100.0, 1.0, GB // 100, most_threads=2, always_busy=True)
    for number in range(12):
        answer = asked(allocator, name=str(number))
        cores = answer.resources.cores
        allocator.observe(TASK, answer.ticket, outcome(work.run_s(cores), work.busy_cores(cores), work.memory_bytes))
    why = asked(allocator).why["cores"]
    assert why.rule == "did-not-pay" and (why.figures["fewer"], why.figures["more"]) == (2.0, 4.0)
    assert why.text == "4 cores made it 1.00 times as fast as 2"


def test_what_was_learned_of_run_times_is_kept() -> None:
    one, other = LadderMalleable(), LadderMalleable()
    for number in range(5):
        answer = asked(one, name=str(number))
        one.observe(TASK, answer.ticket, outcome(100.0, answer.resources.cores, GB // 100))
    other.restore(json.loads(json.dumps(one.state())))
    assert other.state() == one.state() and asked(other, name="x").resources == asked(one, name="x").resources


@pytest.mark.parametrize("seed", range(5))
def test_different_tasks_that_more_cores_make_faster_keep_them(seed: int) -> None:
    allocator, draw = LadderMalleable(), Random(seed)
    found = []
    for number in range(200):
        answer = asked(allocator, name=str(number))
        found.append(answer.resources.cores)
        seconds = 100.0 * 10 ** draw.uniform(-0.5, 0.5) / found[-1]
        allocator.observe(TASK, answer.ticket, outcome(seconds, found[-1], GB // 100, task=str(number)))
    assert fmean(found[100:]) > 6
