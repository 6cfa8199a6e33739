"""Tests of quantiles of run times that are corrected by how often they held."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.sizing.calibrated_runtimes import CalibratedRuntimes
from headway.sizing.runtime_model import RuntimeModel

LEVELS = (0.5, 0.9, 0.95)


def task(size: int | None = None) -> Task:
    return Task("t", "c", "-", input_bytes=size)


def lasted(seconds: float, ending: Ending = Ending.SUCCESS) -> Outcome:
    return Outcome("t", 1, ending, 0.0, seconds)


def within(run_times: list[float], after: int = 50) -> dict[float, float]:
    """The share of run times within each quantile that was predicted before."""
    times, hits = CalibratedRuntimes(), dict.fromkeys(LEVELS, 0)
    for number, seconds in enumerate(run_times):
        for level in LEVELS if number >= after else ():
            found = times.quantile(task(), level)
            assert found is not None
            hits[level] += seconds <= found
        times.observe(task(), lasted(seconds))
    return {level: count / (len(run_times) - after) for level, count in hits.items()}


def test_nothing_is_known_before_the_first_run() -> None:
    times = CalibratedRuntimes()
    assert times.quantile(task(), 0.5) is None and len(times) == 0
    times.observe(task(), lasted(100.0))
    assert times.quantile(task(), 0.5) == pytest.approx(100.0) and len(times) == 1


def test_the_second_run_moves_the_levels_by_hand() -> None:
    """One level of weight 1 and ten of the prior: 0.9 of 11 is reached at (0.9 · 11 - 1) / 10."""
    times = CalibratedRuntimes()
    for seconds in (100.0, 50.0):  # the second is shorter than all: of the half below the first, the middle
        times.observe(task(), lasted(seconds))
    assert times.level(0.9) == pytest.approx((0.9 * 11 - 1) / 10)
    assert times.level(0.2) == pytest.approx(0.22), "below the level of the second, 0.25, only the prior counts"
    assert times.level(0.3) == 0.25


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["lognormal", "uniform", "two", "heavy"]))
def test_quantiles_of_exchangeable_run_times_hold_as_often_as_they_say(seed: int, kind: str) -> None:
    draw = random.Random(seed)
    kinds = {
        "lognormal": lambda: math.exp(draw.gauss(5, 1)),
        "uniform": lambda: draw.uniform(10, 1000),
        "two": lambda: draw.choice([30.0, 3000.0]) * draw.uniform(0.9, 1.1),
        "heavy": lambda: 10 * draw.paretovariate(1.0),
    }
    found = within([kinds[kind]() for _ in range(650)])
    for level in LEVELS:
        # Four standard deviations of a binomial share of 600, and a little for what the prior still holds back.
        assert found[level] == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 600) + 0.01)


def test_run_times_that_grow_are_made_up_for() -> None:
    draw = random.Random(1)
    growing = [100 * 1.005**number * math.exp(draw.gauss(0, 0.2)) for number in range(1000)]
    model, hits = RuntimeModel(), 0
    for number, seconds in enumerate(growing):
        hits += number >= 50 and seconds <= (model.quantile(task(), 0.9) or 0.0)
        model.observe(task(), lasted(seconds))
    assert hits / 950 < 0.75, "the model alone is behind"
    assert within(growing)[0.9] == pytest.approx(0.9, abs=0.03)


ATTEMPTS = st.lists(
    st.tuples(st.floats(0.01, 1e6), st.sampled_from([Ending.SUCCESS, Ending.SUCCESS, Ending.TIME]), st.integers(0, 9)),
    min_size=1,
    max_size=60,
)


def learned(attempts: list[tuple[float, Ending, int]]) -> CalibratedRuntimes:
    times = CalibratedRuntimes()
    for seconds, ending, size in attempts:
        times.observe(task(10**size), lasted(seconds, ending))
    return times


@given(ATTEMPTS, st.floats(0, 1), st.floats(0, 1), st.integers(0, 9))
def test_quantiles_rise_with_the_level(
    attempts: list[tuple[float, Ending, int]], p: float, q: float, size: int
) -> None:
    times = learned([(100.0, Ending.SUCCESS, 3), *attempts])
    low, high = (times.quantile(task(10**size), each) for each in sorted((p, q)))
    assert low is not None and high is not None
    assert 0 < low <= high * (1 + 1e-9) < math.inf


def test_a_failed_attempt_does_not_count() -> None:
    times = learned([(100.0, Ending.SUCCESS, 3), (300.0, Ending.TIME, 3), (9.0, Ending.MEMORY, 3)])
    assert times.state() == learned([(100.0, Ending.SUCCESS, 3)]).state()


@given(ATTEMPTS, ATTEMPTS, st.floats(0.01, 0.99))
def test_a_restored_state_continues_to_learn(
    before: list[tuple[float, Ending, int]], after: list[tuple[float, Ending, int]], q: float
) -> None:
    first, second = learned(before), CalibratedRuntimes()
    second.restore(json.loads(json.dumps(first.state())))
    assert second.quantile(task(), q) == first.quantile(task(), q)
    for times in (first, second):
        for seconds, ending, size in after:
            times.observe(task(10**size), lasted(seconds, ending))
    assert second.state() == first.state()
    assert second.quantile(task(), q) == first.quantile(task(), q)
