"""The first task of a category: what others used tells how much to try, on one task at a time."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from headway.formats.read_task_log import read_task_log
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.simulation.replay import Replay, World, replay
from headway.sizing.base import Allocation, Context
from headway.sizing.estimators.first_tasks import FirstTask, Terms, between, climb
from headway.sizing.failure_price import FailurePrice
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource

MACHINE = Resources(cores=16, memory_bytes=64_000_000_000)
DATA = os.environ.get("HEADWAY_DATA")
GB = 1e9


def taught(failures: float, hint: float | None = 10 * GB, share: float = 0.1) -> PerResource:
    """Return an allocator that has seen the first tasks of four categories, which used a share of 10 GB."""
    allocator = PerResource(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(failures)
    for number in range(4):
        task = Task("t", f"c{number}", "true", hints={} if hint is None else {"memory_bytes": hint})
        used = Usage(memory_bytes=Measured((share + 0.001 * number) * 10 * GB, Quality.EXACT))
        allocator.observe(task, {}, Outcome("t", 1, Ending.SUCCESS, 0.0, 60.0, used))
    return allocator


def given(allocator: PerResource, hint: float | None, others: int = 0, failed: tuple[float, ...] = ()) -> float:
    task = Task("t", "new", "true", hints={} if hint is None else {"memory_bytes": hint})
    failures = {"memory_bytes": failed} if failed else {}
    answer = allocator.allocate(task, failures, Context(MACHINE, others=others))
    assert isinstance(answer, Allocation)
    return answer.resources.memory_bytes


def test_the_first_task_gets_less_than_its_hint_where_others_needed_less() -> None:
    assert 1 * GB < given(taught(0.03), 10 * GB) < 4 * GB


def test_one_task_at_a_time_tries_less_than_its_hint() -> None:
    assert given(taught(0.03), 10 * GB, others=1) == 10 * GB


def test_the_hint_is_tried_before_more_than_the_hint() -> None:
    allocator = taught(0.03)
    tried = [given(allocator, 10 * GB)]
    while tried[-1] < 10 * GB:
        tried.append(given(allocator, 10 * GB, others=3, failed=tuple(tried)))
    assert tried[-1] == pytest.approx(10 * GB, rel=0.01)


def test_failures_make_the_next_first_tasks_careful() -> None:
    allocator = taught(0.03)
    used = Usage(memory_bytes=Measured(1e9, Quality.EXACT))
    for _ in range(100):
        allocator.observe(Task("t", "c0", "true"), {}, Outcome("t", 1, Ending.SUCCESS, 0.0, 60.0, used))
    before = given(allocator, 10 * GB)
    for number in range(8):
        used = Usage(memory_bytes=Measured(9 * GB, Quality.LOWER_BOUND))
        task = Task("t", f"unlucky{number}", "true", hints={"memory_bytes": 10 * GB})
        allocator.observe(task, {}, Outcome("t", 1, Ending.MEMORY, 0.0, 60.0, used))
    assert given(allocator, 10 * GB) > before


def test_a_task_without_a_hint_learns_from_others_where_failures_have_a_price() -> None:
    assert 1 * GB < given(taught(0.03, hint=None), None) < 3.9 * GB
    assert given(taught(1.0, hint=None), None) == MACHINE.memory_bytes / MACHINE.cores


TERMS = Terms(failed_share=1.0, lost_besides=0.0, spread=0.1, fine=0.0)


def test_shares_of_hints_are_used_where_they_tell_more() -> None:
    firsts = [FirstTask(0.1 * hint, 60.0, hint) for hint in (1e9, 4e9, 16e9, 64e9)]
    rungs, scaled = climb(firsts, 8e9, TERMS)
    assert scaled
    assert rungs[0] == pytest.approx(0.8e9, rel=0.05)
    assert rungs[-1] == 8e9


def test_amounts_are_used_where_hints_tell_nothing() -> None:
    firsts = [FirstTask(1e9, 60.0, hint) for hint in (2e9, 4e9, 16e9, 64e9)]
    rungs, scaled = climb(firsts, 32e9, TERMS)
    assert not scaled
    assert rungs[0] == pytest.approx(1e9, rel=0.05)
    assert np.all(np.diff(rungs) > 0)


def test_a_task_that_needs_more_than_others_does_not_get_its_whole_hint_at_once() -> None:
    firsts = [FirstTask(50e6, 10.0, 6e9) for _ in range(3)]
    rungs, _ = climb(firsts, 12e9, TERMS)
    assert rungs[-1] == 12e9
    assert np.all(rungs[1:] / rungs[:-1] < 12)


def test_rungs_up_to_the_hint_are_fewer_the_dearer_a_failure_is() -> None:
    counts = [len(between(64e6, 64e9, TERMS._replace(fine=fine), run_s=10.0)) for fine in (0.0, 1e11, 1e12, 1e14)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] >= 3
    assert counts[-1] == 0
    assert between(63.9e9, 64e9, TERMS, run_s=10.0) == []


def test_three_known_categories_are_enough() -> None:
    allocator = PerResource(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(0.03)
    for number in range(3):
        assert given(allocator, 10 * GB) == 10 * GB
        task = Task("t", f"c{number}", "true", hints={"memory_bytes": 10 * GB})
        used = Usage(memory_bytes=Measured(1e8, Quality.EXACT))
        allocator.observe(task, {}, Outcome("t", 1, Ending.SUCCESS, 0.0, 60.0, used))
    assert given(allocator, 10 * GB) < 5 * GB


def test_first_tasks_have_a_price_of_their_own() -> None:
    price = FailurePrice(0.03)
    for _ in range(50):
        price.succeeded(1e9, 10.0, known=False)
    known, first = price.fine, price.fine_at_first
    price.failed(known=False)
    assert price.fine == known
    assert price.fine_at_first == pytest.approx(2.718 * first, rel=1e-3)
    restored = FailurePrice(0.03)
    restored.restore(price.state())
    assert restored.fine_at_first == price.fine_at_first


def cost_of(name: str, failures: float, lag: int = 0) -> Replay:
    log = read_task_log(Path(str(DATA)) / "cws-nextflow-runs" / f"{name}.csv.gz")
    allocator = PerResource(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(failures)
    return replay(log, allocator, World(log.machine, lag))


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")
@pytest.mark.parametrize("name", ["ampliseq_1", "nanoseq_2", "viralrecon_3"])
def test_first_tasks_of_real_pipelines_waste_little_and_seldom_fail(name: str) -> None:
    found, asked = cost_of(name, 0.03), cost_of(name, 0.03, lag=1000)  # so late that only hints are known
    assert found.costs["memory_bytes"].failures <= 0.06 * found.attempts
    assert found.costs["memory_bytes"].waste < 0.1 * asked.costs["memory_bytes"].waste
