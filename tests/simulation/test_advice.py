"""Advice from a log: amounts, failures and savings, each from what was known before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.formats.read_task_log import read_task_log
from headway.model.resources import Resources
from headway.model.task_log import LoggedTask, TaskLog
from headway.simulation.advice import Terms, advice_from, round_memory, round_time

GB, HOUR_S = 1e9, 3600.0
MACHINE = Resources(cores=32, memory_bytes=128_000_000_000)
TRACES = Path(os.environ.get("HEADWAY_DATA", "/nonexistent")) / "sizey-nextflow-traces"


def log_of(
    peaks: list[float], asked: float | None = 8.0, run_s: float = HOUR_S, category: str = "align", **more: float
) -> TaskLog:
    """Tasks of an hour with these peaks in GB; `more`: busy and asked cores."""
    wish = ({} if asked is None else {"memory_bytes": asked * GB}) | ({"cores": more["cpus"]} if "cpus" in more else {})
    used = {"cores": more["busy"]} if "busy" in more else {}
    tasks = [
        LoggedTask(str(number), category, run_s, {"memory_bytes": peak * GB} | used, wish)
        for number, peak in enumerate(peaks)
    ]
    return TaskLog("log", tasks, ("memory_bytes",), MACHINE, ("memory_bytes",))


def test_tasks_that_are_all_alike() -> None:
    (each,) = advice_from(log_of([2.0] * 25), Terms()).categories
    assert each.records == 25
    assert 2 * GB <= each.memory_bytes[0] <= 2.4 * GB
    assert each.memory_bytes[-1] == 8 * GB, "what was asked for: nothing that ran before fails for good"
    assert each.asked_memory_bytes == 8 * GB
    assert each.used_memory_bytes == (2 * GB,) * 6
    trial = each.trial
    assert (trial.tasks, trial.attempts, trial.failed, trial.unfinished) == (20, 20, 0, 0), "the first five teach"
    assert trial.asked_gb_h == pytest.approx(20 * 8)
    assert trial.used_gb_h == pytest.approx(20 * 2)
    assert 20 * 2 <= trial.held_gb_h <= 20 * 2.5
    assert trial.saved_gb_h == pytest.approx(trial.asked_gb_h - trial.held_gb_h)


def test_too_few_records_are_left_alone_and_named() -> None:
    log = log_of([2.0] * 5)
    log.tasks += log_of([1.0] * 4, category="plot").tasks
    advice = advice_from(log, Terms())
    assert [each.category for each in advice.categories] == ["align"]
    assert [(each.category, each.records) for each in advice.left_alone] == [("plot", 4)]
    assert advice.categories[0].trial.attempts == 0
    assert advice.categories[0].trial.failed_share is None


def test_nothing_is_known_of_what_comes_later() -> None:
    """A last task that needs much fails in the trial, and changes nothing that was counted before it."""
    before = advice_from(log_of([2.0] * 25), Terms()).total().trial
    after = advice_from(log_of([2.0] * 25 + [6.0]), Terms()).total().trial
    assert after.out_of_memory - before.out_of_memory in (1, 2)
    assert after.tasks - before.tasks == 1
    assert after.held_gb_h - before.held_gb_h == pytest.approx(
        8 + 2.3 * (after.attempts - before.attempts - 1), rel=0.3
    )


def test_every_retry_gets_more_than_the_attempt_before() -> None:
    """Also where the next rung is so near that it is rounded to the same amount."""
    (each,) = advice_from(log_of([1.0] * 8 + [4.2] * 3, asked=4.5), Terms(failures=1)).categories
    assert len(each.memory_bytes) == 3
    assert each.memory_bytes[-1] >= 4.5 * GB
    assert each.trial.unfinished == 0


def test_a_failed_attempt_holds_its_memory_to_its_end() -> None:
    trial = advice_from(log_of([2.0] * 30 + [6.0]), Terms(failures=1, attempts=2)).total().trial
    assert trial.out_of_memory == 1
    assert trial.attempts == trial.tasks + 1


def test_a_request_that_is_cheaper_than_any_advice_stays() -> None:
    """Tasks need ever more, and nearly what they asked for: to learn that costs failures, which cost more."""
    log = log_of([1.0] * 6 + [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.4], asked=4.5)
    (each,) = advice_from(log, Terms()).categories
    assert each.memory_bytes == ()
    assert each.time_s
    assert 0 < each.trial.out_of_memory < each.trial.tasks


def test_tasks_that_use_more_than_they_asked_get_more() -> None:
    (each,) = advice_from(log_of([9.0] * 20, asked=8.0), Terms()).categories
    assert each.memory_bytes[0] >= 9 * GB


def test_a_log_without_requests_has_amounts_but_no_savings() -> None:
    (each,) = advice_from(log_of([2.0] * 20, asked=None), Terms()).categories
    assert each.memory_bytes[0] >= 2 * GB
    assert each.memory_bytes[-1] >= 2 * each.memory_bytes[1]
    assert each.asked_memory_bytes is None
    assert each.trial.saved_gb_h is None


def test_no_amount_is_above_the_most_that_a_task_can_get() -> None:
    log = log_of([2.0] * 20, asked=None)
    log.machine = Resources(cores=4, memory_bytes=2_500_000_000)
    (each,) = advice_from(log, Terms()).categories
    assert max(each.memory_bytes) == 2.5 * GB


def test_time_has_a_margin_and_doubles() -> None:
    (each,) = advice_from(log_of([2.0] * 50, run_s=HOUR_S), Terms()).categories
    first, second, third = each.time_s
    assert HOUR_S * 1.1 < first <= 2 * HOUR_S
    assert (second, third) == (2 * first, 4 * first)
    quick = advice_from(log_of([2.0] * 50, run_s=3.0), Terms()).categories[0]
    assert quick.time_s[0] == 300


def test_a_task_that_takes_longer_than_all_before_it_runs_out_of_time() -> None:
    log = log_of([2.0] * 50, run_s=HOUR_S)
    log.tasks.append(LoggedTask("long", "align", 9 * HOUR_S, {"memory_bytes": 2 * GB}, {"memory_bytes": 8 * GB}))
    trial = advice_from(log, Terms()).total().trial
    assert (trial.out_of_time, trial.unfinished) == (3, 1)
    assert advice_from(log, Terms(time_kills=False)).total().trial.failed == 0


def test_cpus_are_those_that_were_busy_and_fewer_cost_time() -> None:
    (each,) = advice_from(log_of([2.0] * 20, busy=2.05, cpus=8), Terms()).categories
    assert (each.cpus, each.asked_cpus, each.used_cpus) == (2, 8, 2.05)
    (all_busy,) = advice_from(log_of([2.0] * 20, busy=7.9, cpus=8), Terms()).categories
    assert all_busy.cpus == 8
    assert each.time_s[0] > all_busy.time_s[0]
    assert advice_from(log_of([2.0] * 20, cpus=8), Terms()).categories[0].cpus is None, "not measured"
    assert advice_from(log_of([2.0] * 20, busy=2.0), Terms()).categories[0].cpus is None, "fewer than what?"


def test_the_tolerance_is_a_dial() -> None:
    peaks = [1.0 + 0.02 * ((37 * number) % 100) for number in range(400)]
    never, some, often = (
        advice_from(log_of(peaks, asked=16.0), Terms(failures=share)).total().trial for share in (0.0, 0.03, 1.0)
    )
    assert never.failed <= some.failed <= often.failed
    assert (some.failed_share or 0.0) <= 0.04
    assert never.held_gb_h >= often.held_gb_h


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(1e6, 8e9) | st.sampled_from([1e9, 4e9]), st.floats(0, 1e5)),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([0.0, 0.03, 1.0]),
    st.integers(1, 4),
    st.sampled_from([1e6, 2.0**20]),
)
def test_what_holds_for_every_log(
    tasks: list[tuple[str, float, float]], failures: float, attempts: int, megabyte: float
) -> None:
    asked = {"memory_bytes": 8e9}
    logged = [
        LoggedTask(str(n), name, run_s, {"memory_bytes": peak}, asked) for n, (name, peak, run_s) in enumerate(tasks)
    ]
    log = TaskLog("log", logged, ("memory_bytes",), MACHINE, ("memory_bytes",))
    advice = advice_from(log, Terms(failures, attempts, megabyte=megabyte, time_kills=False))
    assert sum(each.records for each in (*advice.categories, *advice.left_alone)) == len(tasks)
    for each in advice.categories:
        assert list(each.memory_bytes) == sorted(set(each.memory_bytes))
        assert len(each.memory_bytes) <= attempts
        assert not each.memory_bytes or each.memory_bytes[0] <= 8e9
        assert list(each.time_s) == sorted(each.time_s)
        assert each.trial.attempts == each.trial.tasks + each.trial.failed - each.trial.unfinished
        assert attempts == 1 or each.trial.unfinished == 0


def test_amounts_are_such_as_people_write() -> None:
    assert [round_memory(amount * GB) / GB for amount in (0.0, 0.1, 0.101, 1.01, 4.1, 9.9, 12.1, 99.0, 101)] == [
        0.1, 0.1, 0.2, 1.1, 4.2, 10.0, 13.0, 100.0, 110.0,
    ]  # fmt: skip
    assert round_memory(10.1 * 2**30, 2.0**20) == 11 * 2**30
    assert [round_time(seconds) / 60 for seconds in (1, 301, 3600, 4000, 90_000)] == [5, 10, 60, 70, 1560]


@pytest.mark.skipif(not TRACES.is_dir(), reason="HEADWAY_DATA does not name the traces")
@pytest.mark.parametrize(("name", "saved"), [("eager", 0.25), ("methylseq", 0.5), ("rnaseq", 0.55), ("chipseq", 0.25)])
def test_on_real_traces_few_attempts_fail_and_much_is_saved(name: str, saved: float) -> None:
    trial = advice_from(read_task_log(TRACES / f"trace_{name}.csv.gz"), Terms()).total().trial
    assert (trial.failed_share or 0.0) <= 0.03
    assert trial.unfinished == 0
    assert (trial.saved_gb_h or 0.0) >= saved * trial.asked_gb_h


def test_quantiles_of_very_many_tasks_come_from_evenly_spread_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.simulation.advice._SHOWN", 64)
    (each,) = advice_from(log_of([1.0 + number % 100 for number in range(1000)]), Terms()).categories
    assert each.records == 1000
    low, quarter, middle, _, _, most = (peak / 1e9 for peak in each.used_memory_bytes)
    assert (low, most) == (1.0, 100.0)
    assert 20 < quarter < 31
    assert 45 < middle < 56
