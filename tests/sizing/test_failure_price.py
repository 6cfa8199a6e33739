"""The price of failures: as many attempts fail as the user tolerates, and steps are worth a failure."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from headway.formats.read_task_log import read_task_log
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.simulation.replay import Replay, World, replay
from headway.sizing.base import Allocation, Context
from headway.sizing.failure_price import FailurePrice
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource

MACHINE = Resources(cores=16, memory_bytes=64_000_000_000)
DATA = os.environ.get("HEADWAY_DATA")


def log_of(run_s: float, **peaks: list[float]) -> TaskLog:
    """Make a log in which the categories take turns."""
    tasks = [
        LoggedTask(f"{category}-{number}", category, run_s, {"memory_bytes": peak})
        for number, turn in enumerate(zip(*peaks.values(), strict=True))
        for category, peak in zip(peaks, turn, strict=True)
    ]
    return TaskLog("made up", tasks, ("memory_bytes",), MACHINE, ("memory_bytes",))


def cost_of(log: TaskLog, failures: float, lag: int = 0) -> Replay:
    allocator = PerResource(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(failures)
    return replay(log, allocator, World(log.machine, lag))


def exponential(count: int, seed: int, mean: float = 2e9) -> list[float]:
    draw = random.Random(seed)
    return [1e8 + draw.expovariate(1 / mean) for _ in range(count)]


@pytest.mark.parametrize("tolerated", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_no_more_attempts_fail_than_are_tolerated(tolerated: float, seed: int) -> None:
    log = log_of(60.0, t=exponential(1500, seed))
    dear, free = cost_of(log, tolerated), cost_of(log, 1.0)
    assert dear.costs["memory_bytes"].failures <= tolerated * dear.attempts + 5
    assert free.costs["memory_bytes"].failures > 0.15 * free.attempts
    assert dear.costs["memory_bytes"].waste > free.costs["memory_bytes"].waste


def test_failures_are_accepted_where_they_save_most() -> None:
    """Both categories vary alike, but one holds a hundred times as much."""
    log = log_of(60.0, large=exponential(600, 1, mean=4e9), small=exponential(600, 2, mean=4e7))
    failed = {"large": 0, "small": 0}

    class Counting(PerResource):
        def observe(self, task: Task, ticket: object, outcome: Outcome) -> None:
            failed[task.category] += outcome.ending is not Ending.SUCCESS
            super().observe(task, {}, outcome)

    allocator = Counting(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(0.03)
    replay(log, allocator, World(log.machine))
    assert failed["small"] <= 5 < failed["large"] <= 0.06 * 600


def test_late_news_of_failures_do_not_raise_the_price_again() -> None:
    """Fifty tasks are sized before the first failure is known: one rise is enough for all of them."""
    log = log_of(60.0, t=exponential(1500, 4))
    late, free = cost_of(log, 0.03, lag=50), cost_of(log, 1.0, lag=50)
    assert late.costs["memory_bytes"].failures < 0.7 * free.costs["memory_bytes"].failures
    assert late.costs["memory_bytes"].waste < 2 * free.costs["memory_bytes"].waste


def outcome(peak: float | None, ending: Ending = Ending.SUCCESS, given: float = 0.0) -> Outcome:
    quality = Quality.LOWER_BOUND if peak is None else Quality.EXACT
    return Outcome("t", 1, ending, 0.0, 2.0, Usage(memory_bytes=Measured(peak or given, quality)))


def given_by(allocator: PerResource, limits: Resources = MACHINE) -> float:
    answer = allocator.allocate(Task("next", "t", "true"), {}, Context(limits))
    assert isinstance(answer, Allocation)
    return answer.resources.memory_bytes


def test_nobody_is_stopped_for_a_few_megabytes() -> None:
    """Small tasks that vary by a few megabytes; see the steps in docs/sizing.md."""
    allocator = PerResource(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(0.03)
    for number in range(40):
        allocator.observe(Task("t", "t", "true"), {}, outcome(40e6 + number * 1e5))
    assert given_by(allocator) == 64e6
    assert given_by(allocator, Resources(cores=1, memory_bytes=1_000_000_000)) < 64e6
    fine = PerResource(ladder_sizer, 0, ["memory_bytes"])
    for number in range(40):
        fine.observe(Task("t", "t", "true"), {}, outcome(40e6 + number * 1e5))
    assert 43.9e6 < given_by(fine) < 46e6


def test_the_price_survives_json_and_goes_on_alike() -> None:
    before, after = PerResource(ladder_sizer), PerResource(ladder_sizer)
    for allocator in (before, after):
        allocator.tolerate(0.03)
    task = Task("t", "t", "true")
    for peak in exponential(30, 3):
        before.observe(task, {}, outcome(peak))
    before.observe(task, {}, outcome(None, Ending.MEMORY, given=9e9))
    after.restore(json.loads(json.dumps(before.state())))
    assert given_by(after) == given_by(before)
    assert after.state() == before.state()


def test_only_failures_of_known_categories_count() -> None:
    allocator = PerResource(ladder_sizer, 0, ["memory_bytes"])
    allocator.tolerate(0.03)
    task = Task("t", "t", "true")
    start = allocator.state()["prices"]["memory_bytes"]["log_factor"]
    allocator.observe(task, {}, outcome(None, Ending.MEMORY, given=1e9))
    assert allocator.state()["prices"]["memory_bytes"]["log_factor"] == start
    for _ in range(50):
        allocator.observe(task, {}, outcome(1e9))
    known = allocator.state()["prices"]["memory_bytes"]["log_factor"]
    allocator.observe(task, {}, outcome(None, Ending.MEMORY, given=5e9))
    assert allocator.state()["prices"]["memory_bytes"]["log_factor"] == known + 1


def test_a_burst_of_failures_among_few_tasks_says_little() -> None:
    few, many = FailurePrice(0.03), FailurePrice(0.03)
    for price, tasks in ((few, 20), (many, 2000)):
        for _ in range(tasks):
            price.succeeded(1e9, 10.0, known=False)  # only the failures move the price
        for _ in range(4):
            price.failed()
    start = 0.5 / 0.03 * 1e10
    assert few.fine == pytest.approx(2 * start)
    assert many.fine > 50 * start


@pytest.mark.parametrize("seed", range(2))
def test_the_bound_is_kept_where_peaks_have_a_heavy_tail(seed: int) -> None:
    draw = random.Random(seed)
    peaks = [min(60e9, 1e8 * draw.paretovariate(1.5)) for _ in range(2000)]
    dear = cost_of(log_of(60.0, t=peaks), 0.03)
    assert dear.costs["memory_bytes"].failures <= 0.03 * dear.attempts + 10


def test_without_tolerance_the_price_stays_finite() -> None:
    price = FailurePrice(0.0)
    for _ in range(1000):
        price.succeeded(1e12, 1e6)
    for _ in range(1000):
        price.failed()
    assert 1e20 < price.fine < 1e24


@pytest.mark.skipif(not DATA, reason="HEADWAY_DATA does not say where the real logs are")
@pytest.mark.parametrize("name", ["eager", "methylseq", "rnaseq"])
def test_real_traces_stay_within_the_bound_at_little_more_waste(name: str) -> None:
    log = read_task_log(Path(str(DATA)) / f"sizey-nextflow-traces/trace_{name}.csv.gz")
    dear, free = cost_of(log, 0.03), cost_of(log, 1.0)
    assert dear.costs["memory_bytes"].failures <= 0.03 * dear.attempts
    assert dear.costs["memory_bytes"].failures < free.costs["memory_bytes"].failures / 3
    assert dear.costs["memory_bytes"].waste < 1.4 * free.costs["memory_bytes"].waste
