"""Tests of the replay of run times: logs whose answers can be computed by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.read_task_log import read_task_log
from headway.model.task_log import LoggedTask
from headway.simulation.replay_times import LONGEST_S, RULES, TimeReplay, as_asked
from headway.sizing.estimators.time_rules import Lotaru, MeanPlusTwoSigma
from headway.sizing.walltime import WAIT_PER_S, WAIT_S

TRACES = Path(os.environ.get("HEADWAY_DATA", "/nowhere")) / "sizey-nextflow-traces"


def tasks(*run_times: float, category: str = "c", asked: float | None = None, sizes: bool = False) -> list[LoggedTask]:
    return [
        LoggedTask(
            f"{category}{number}",
            category,
            seconds,
            {},
            {} if asked is None else {"walltime_s": asked},
            int(1e6 * seconds) if sizes else None,
        )
        for number, seconds in enumerate(run_times)
    ]


def test_by_hand() -> None:
    """The second task asks for twice the first, 120 s, and a minute; it takes 500 s: 180 and 360 are lost, 720 enough.

    The third asks for the mean of 60 and 500 and two deviations of 311 s, so 902.3 s, and a minute: 17 minutes.
    """
    cost = TimeReplay("mean-plus-2-sigma").over(tasks(60.0, 500.0, 100.0))
    assert (cost.tasks, cost.attempts, cost.timeouts, cost.known_attempts) == (2, 4, 2, 0)
    assert cost.asked_s == 180 + 360 + 720 + 1020
    assert cost.used_s == 600 and cost.lost_s == 180 + 360
    assert cost.delay_s == pytest.approx(WAIT_PER_S * 2280 + 540 + 2 * WAIT_S)
    assert cost.within == [1, 1, 1], "the third, within the median already"


def test_the_first_task_and_tasks_without_a_run_time_do_not_count() -> None:
    for name in RULES:
        assert TimeReplay(name).over(tasks(100.0)).tasks == 0
        assert TimeReplay(name).over(tasks(0.0, 100.0, 0.0, 100.0)).tasks == 1
    assert as_asked(tasks(100.0, 0.0, asked=60.0)) is None


def test_with_a_lag_a_task_is_not_known_at_once() -> None:
    for name in RULES:
        assert TimeReplay(name, lag=2).over(tasks(*[100.0] * 6)).tasks == 3


def test_a_rule_goes_on_learning_in_the_next_log() -> None:
    for name in RULES:
        replay = TimeReplay(name)
        assert replay.over(tasks(100.0, 100.0)).tasks == 1
        assert replay.over(tasks(100.0, 100.0)).tasks == 2


def test_the_requests_of_the_log() -> None:
    """The first does not count; each of the others asked for 200 s, and 500 s need 200, 400 and 800."""
    cost = as_asked(tasks(10.0, 150.0, 500.0, asked=200.0))
    assert cost is not None
    assert (cost.tasks, cost.attempts, cost.timeouts, cost.asked_s, cost.lost_s) == (2, 4, 2, 1600, 600)
    assert cost.coverage() == {}


def test_a_task_that_takes_longer_than_any_request_may_be() -> None:
    for name in RULES:
        cost = TimeReplay(name).over(tasks(LONGEST_S / 2, LONGEST_S + 1, LONGEST_S / 2))
        assert cost.impossible == 1 and cost.tasks == 2
        assert cost.timeouts == cost.attempts - 1


def test_run_times_that_are_all_alike() -> None:
    for name in RULES:
        cost = TimeReplay(name, 0.03).over(tasks(*[1000.0] * 100))
        assert cost.timeouts == 0 and cost.within == [99, 99, 99]
    assert cost.asked_s == pytest.approx(98 * 1080 + 2100), "the second asks for twice the first"


def test_mean_and_deviation() -> None:
    rule = MeanPlusTwoSigma()
    rule.add(10.0, None)
    assert rule.normal(None) == (10.0, 5.0), "after one run: twice as much is two deviations more"
    rule.add(30.0, None)
    assert rule.normal(None) == pytest.approx((20.0, 14.142), abs=0.001)


class TestLotaru:
    def test_the_median_where_nothing_correlates(self) -> None:
        rule = Lotaru()
        for seconds, size in ((10.0, 5.0), (90.0, 4.0), (20.0, 3.0), (40.0, 9.0)):
            rule.add(seconds, size)
        assert rule.normal(5.0)[0] == rule.normal(None)[0] == 30.0

    @given(st.floats(0.1, 100), st.floats(1e-9, 1e-3), st.floats(0, 1e6), st.integers(2, 30))
    def test_a_line_is_found(self, start: float, slope: float, first: float, runs: int) -> None:
        rule = Lotaru()
        for number in range(runs):
            size = first + number * 1e9
            rule.add(start + slope * size, size)
        mean, sigma = rule.normal(first + 40e9)
        assert mean == pytest.approx(start + slope * (first + 40e9), rel=0.01)
        assert sigma >= 0

    def test_the_regression_of_a_noisy_line(self) -> None:
        """Pearson's coefficient is 0.993; slope 1.98 and intercept 0.1 by least squares; the prior hardly counts."""
        rule = Lotaru()
        for size, seconds in ((1.0, 2.2), (2.0, 3.9), (3.0, 5.8), (4.0, 8.3)):
            rule.add(seconds, size)
        mean, sigma = rule.normal(10.0)
        assert mean == pytest.approx(20.15, abs=0.25)
        assert 0.2 < sigma < 1.5


@pytest.mark.skipif(not TRACES.is_dir(), reason="HEADWAY_DATA does not name the traces")
@pytest.mark.parametrize("name", ["eager", "methylseq", "rnaseq", "chipseq"])
def test_on_real_traces_quantiles_hold_and_few_attempts_time_out(name: str) -> None:
    logged = read_task_log(TRACES / f"trace_{name}.csv.gz").tasks
    cost = TimeReplay("ladder", 0.03).over(logged)
    asked = as_asked(logged)
    assert 0.87 <= cost.coverage()[0.9] <= 0.93
    assert cost.known_timeouts <= 0.03 * cost.known_attempts
    assert asked is not None and cost.delay_s < 0.2 * asked.delay_s
