"""Tests of the time that is asked of a batch queue."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Context, Prediction
from headway.sizing.calibrated_runtimes import CalibratedRuntimes
from headway.sizing.failure_price import FailurePrice
from headway.sizing.walltime import (
    FURTHEST,
    SHARES,
    WAIT_PER_S,
    WAIT_S,
    WalltimeFromQuantiles,
    cheapest_request,
    whole_minutes,
)

TASK = Task("t", "c", "-")
DAY = Context(Resources(cores=1, walltime_s=86_400.0))


def lasted(seconds: float, ending: Ending = Ending.SUCCESS) -> Outcome:
    return Outcome("t", 1, ending, 0.0, seconds)


def sizer_that_saw(*run_times: float, failures: float = 0.03) -> WalltimeFromQuantiles:
    sizer = WalltimeFromQuantiles("ladder")
    sizer.price = FailurePrice(failures) if failures < 1 else None
    for seconds in run_times:
        sizer.observe(TASK, lasted(seconds))
    return sizer


def answer(sizer: WalltimeFromQuantiles, *failures: float, context: Context = DAY) -> Prediction:
    found = sizer.predict(TASK, failures, context)
    assert isinstance(found, Prediction)
    return found


def asked(sizer: WalltimeFromQuantiles, *failures: float, context: Context = DAY) -> float:
    value = answer(sizer, *failures, context=context).value
    assert value is not None
    return value


def test_run_times_that_are_all_alike_ask_for_little_more() -> None:
    found = answer(sizer_that_saw(*[1000.0] * 300))
    assert found.value == whole_minutes(1000.0) == 1080.0
    assert (found.why.policy, found.why.rule) == ("ladder", "runtime-quantile")
    assert found.why.figures["quantile_s"] == pytest.approx(1000.0, rel=1e-5)


def test_never_above_the_limit_and_all_of_it_where_nothing_is_known() -> None:
    short = Context(Resources(cores=1, walltime_s=900.5))
    assert asked(sizer_that_saw(1000.0), context=short) == 900.5
    assert asked(sizer_that_saw()) == 86_400.0
    assert answer(sizer_that_saw(1000.0), context=Context(Resources(cores=1))).value is None


def test_a_time_out_doubles_until_the_limit() -> None:
    sizer = sizer_that_saw(100.0)
    assert [asked(sizer, 300.0), asked(sizer, 300.0, 600.0), asked(sizer, 80_000.0)] == [600.0, 1200.0, 86_400.0]


def test_never_much_longer_than_the_longest_run() -> None:
    """Two runs that differ by a factor of a thousand: the tail of their distribution has years."""
    sizer = sizer_that_saw(*[10.0, 10_000.0] * 3, failures=0.0)
    assert asked(sizer) == whole_minutes(15_000.0)


@given(st.lists(st.floats(1, 1e5), min_size=1, max_size=40), st.floats(0.0001, 0.5))
def test_no_share_that_is_tolerated_delays_less(run_times: list[float], tolerance: float) -> None:
    times = CalibratedRuntimes()
    for seconds in run_times:
        times.observe(TASK, lasted(seconds))
    request = cheapest_request(times, TASK, tolerance)
    assert request is not None and request.share <= tolerance

    def delay_s(share: float, seconds: float) -> float:
        return WAIT_PER_S * seconds + share * (seconds + WAIT_S)

    for share in SHARES:
        if share <= tolerance:
            seconds = whole_minutes(
                min(times.quantile(TASK, 1 - share) or 0.0, FURTHEST * (times.longest(TASK) or 0.0))
            )
            assert delay_s(request.share, request.seconds) <= delay_s(share, seconds)


def test_what_is_tolerated_counts_once_a_category_is_known() -> None:
    """Run times with a broad distribution: then less is asked for the more time-outs are tolerated."""
    draw = random.Random(3)
    run_times = [10_000 * draw.paretovariate(1.5) for _ in range(300)]
    none, few, any_share = (asked(sizer_that_saw(*run_times, failures=share)) for share in (0.0, 0.03, 1.0))
    assert none > few > any_share
    assert asked(sizer_that_saw(*run_times[:4], failures=0.0)) == asked(sizer_that_saw(*run_times[:4], failures=1.0))


def test_a_short_task_asks_for_a_higher_quantile() -> None:
    """Another wait costs more than a few minutes, but less than hours."""
    draw = random.Random(5)
    factors = [draw.lognormvariate(0, 0.5) for _ in range(300)]
    shares = [
        answer(sizer_that_saw(*(typical * each for each in factors), failures=1.0)).why.figures["share"]
        for typical in (60.0, 10_000.0)
    ]
    assert shares[0] < 0.02 < shares[1]


def test_a_restored_state_asks_for_the_same() -> None:
    first, second = sizer_that_saw(10.0, 500.0, 4000.0), sizer_that_saw()
    second.restore(json.loads(json.dumps(first.state())))
    assert asked(second) == asked(first)
