"""The runtime model on hand-worked cases, and its laws."""

from __future__ import annotations

import json
import math
import random

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.sizing import runtime_model
from headway.sizing.runtime_model import RuntimeModel

LN2 = math.log(2)
OLD = 0.5 ** (1 / 100)  # the weight of a record that is one older than the newest


def task(size: int | None = None, id: str = "t", cores: float = 1) -> Task:
    return Task(id, "c", "true", input_bytes=size, hints={"cores": cores})


def lasted(seconds: float, ending: Ending = Ending.SUCCESS) -> Outcome:
    return Outcome("t", 1, ending, 0.0, seconds)


def taught(*attempts: tuple[float, Ending]) -> RuntimeModel:
    model = RuntimeModel()
    for seconds, ending in attempts:
        model.observe(task(), lasted(seconds, ending))
    return model


def quantile(model: RuntimeModel, q: float, size: int | None = None, cores: float = 1) -> float:
    found = model.quantile(task(size, cores=cores), q)
    assert found is not None
    return found


class TestByHand:
    def test_nothing_known(self) -> None:
        model = RuntimeModel()
        assert model.quantile(task(), 0.5) is None

    def test_one_record_leaves_half_to_the_tail(self) -> None:
        """The spread is that of one record without error and one that is off by a factor of two."""
        model = taught((100, Ending.SUCCESS))
        spread = LN2 / math.sqrt(2)
        assert quantile(model, 0.3) == pytest.approx(100)
        assert quantile(model, 0.5) == pytest.approx(100)
        assert quantile(model, 0.99) == pytest.approx(100 * 50**spread)
        assert quantile(model, 0.75) == pytest.approx(100 * 2**spread)

    def test_two_records(self) -> None:
        """Weights OLD and 1, and 1 for the next task: up to 100 s lie OLD parts of OLD + 2, up to 400 s OLD + 1."""
        model = taught((100, Ending.SUCCESS), (400, Ending.SUCCESS))
        low, high = OLD / (OLD + 2), (OLD + 1) / (OLD + 2)
        assert quantile(model, low / 2) == pytest.approx(100)
        assert quantile(model, (low + high) / 2) == pytest.approx(200), "half way between, in logarithms"
        assert quantile(model, high) == pytest.approx(400)

    @pytest.mark.parametrize("ending", [Ending.MEMORY, Ending.TIME, Ending.EXIT_CODE, Ending.NODE_LOST])
    def test_a_failure_only_says_longer(self, ending: Ending) -> None:
        """At 400 s, two are at risk that were three at 100 s, one of whom left at 200 s without an end."""
        model = taught((100, Ending.SUCCESS), (200, ending), (400, Ending.SUCCESS))
        after_first = 1 - OLD**2 / (OLD**2 + OLD + 2)
        after_second = after_first * (1 - 1 / 2)
        assert quantile(model, 1 - after_first) == pytest.approx(100)
        assert quantile(model, 1 - after_second) == pytest.approx(400)

    def test_nothing_but_failures(self) -> None:
        model = taught((100, Ending.TIME))
        assert quantile(model, 0.5) == pytest.approx(100 * 2**LN2)

    def test_a_program_that_never_started_took_no_time(self) -> None:
        model = taught(
            (5, Ending.LAUNCH_FAILED), (5, Ending.MISSING_INPUT), (0, Ending.SUCCESS), (math.nan, Ending.TIME)
        )
        assert model.state()["records"] == []

    def test_input_size(self) -> None:
        """Two sizes e apart with run times e apart: each is 1/2 from the mean. All of weight about 1, ten of each."""
        model = RuntimeModel()
        sizes = (999, round(1000 * math.e) - 1)
        for index in range(20):
            size = sizes[index % 2]
            model.observe(task(size), lasted(0.001 * (size + 1)))
        weights = [OLD**age for age in range(20)]
        total = sum(weights)
        squares = sum(weight * 0.25 for weight in weights)  # of sizes, of run times, and of both: they are the same
        penalty = (LN2**2 + squares) / (1 + total)
        slope = squares / (squares + penalty)
        ratio = quantile(model, 0.5, sizes[1] * 10) / quantile(model, 0.5, sizes[1])
        assert math.log(ratio) == pytest.approx(slope * math.log(10), rel=1e-3)

    def test_cores(self) -> None:
        model = RuntimeModel()
        for index in range(200):
            cores = 1 + index % 8
            model.observe(task(cores=cores), lasted(800 / cores))
        assert quantile(model, 0.5, cores=1) / quantile(model, 0.5, cores=8) == pytest.approx(8, rel=0.05)
        assert quantile(model, 0.5, cores=0.25) == quantile(model, 0.5, cores=1)

    def test_more_input_never_makes_it_faster(self) -> None:
        model = RuntimeModel()
        for size in (10, 1000, 100_000):
            model.observe(task(size), lasted(1e6 / size))
        assert quantile(model, 0.5, 10**6) == quantile(model, 0.5, 10) == pytest.approx(1000, rel=0.1)


ATTEMPTS = st.lists(
    st.tuples(
        st.floats(0.01, 1e6),
        st.sampled_from([Ending.SUCCESS, Ending.SUCCESS, Ending.MEMORY, Ending.TIME]),
        st.none() | st.integers(0, 10**12),
        st.integers(1, 64),
    ),
    min_size=1,
    max_size=30,
)
Q = st.floats(0.01, 0.999)


def learned(attempts: list[tuple[float, Ending, int | None, int]], factor: float = 1.0) -> RuntimeModel:
    model = RuntimeModel()
    for number, (seconds, ending, size, cores) in enumerate(attempts):
        model.observe(task(size, str(number), cores), lasted(factor * seconds, ending))
    return model


@given(ATTEMPTS, Q, Q, st.integers(0, 10**12), st.integers(0, 10**12), st.integers(1, 64), st.integers(1, 64))
def test_it_only_rises_with_the_quantile_and_the_input_and_falls_with_cores(
    attempts: list[tuple[float, Ending, int | None, int]], p: float, q: float, s: int, t: int, c: int, d: int
) -> None:
    model = learned(attempts)
    low, high = sorted((p, q))
    small, large = sorted((s, t))
    few, many = sorted((c, d))
    nearly = 1 + 1e-9
    assert quantile(model, low, s, c) <= quantile(model, high, s, c) * nearly
    assert quantile(model, p, small, c) <= quantile(model, p, large, c) * nearly
    assert quantile(model, p, s, many) <= quantile(model, p, s, few) * nearly


FEATURES = st.lists(
    st.tuples(st.floats(-20, 20), st.floats(-4, 4), st.floats(-10, 10), st.floats(0.1, 1)), min_size=1, max_size=20
)


@given(FEATURES, st.floats(0, 2), st.floats(0, 1))
def test_no_other_slopes_within_their_bounds_cost_less(
    points: list[tuple[float, float, float, float]], by_input: float, by_cores: float
) -> None:
    sizes, cores, seconds, weights = (numpy.array(each) for each in zip(*points, strict=True))
    penalty = (LN2**2 + weights @ seconds**2) / (1 + weights.sum())

    def cost(b: float, s: float) -> float:
        return float(weights @ (seconds - b * sizes - s * cores) ** 2 + penalty * (b**2 + s**2))

    found = runtime_model._slopes(sizes, cores, seconds, weights)
    assert 0 <= found[0] <= 2 and 0 <= found[1] <= 1
    assert cost(*found) <= cost(by_input, by_cores) * (1 + 1e-9)


@given(ATTEMPTS, Q, st.floats(0.1, 300), st.integers(0, 10**12))
def test_in_other_units_the_same_answer(
    attempts: list[tuple[float, Ending, int | None, int]], q: float, factor: float, size: int
) -> None:
    one, other = learned(attempts), learned(attempts, factor)
    assume(quantile(one, q, size) < 1e15)  # beyond that, no time is longer than any other
    assert quantile(other, q, size) == pytest.approx(factor * quantile(one, q, size), rel=1e-6)


@given(ATTEMPTS, ATTEMPTS, Q)
def test_a_restored_state_continues_to_learn(
    before: list[tuple[float, Ending, int | None, int]], after: list[tuple[float, Ending, int | None, int]], q: float
) -> None:
    first = learned(before)
    second = RuntimeModel()
    second.restore(json.loads(json.dumps(first.state())))
    for model in (first, second):
        for seconds, ending, size, cores in after:
            model.observe(task(size, cores=cores), lasted(seconds, ending))
    assert second.state() == first.state()
    assert quantile(second, q, 1000) == quantile(first, q, 1000)


@given(st.lists(st.tuples(st.integers(1, 1000), st.booleans()), min_size=1, max_size=30))
def test_quantiles_follow_kaplan_and_meier(records: list[tuple[int, bool]]) -> None:
    """The module's formula, computed record by record: at each success, with one more record at risk."""
    model = taught(*((seconds, Ending.SUCCESS if ended else Ending.MEMORY) for seconds, ended in records))
    weighed = [(seconds, ended, OLD ** (len(records) - 1 - index)) for index, (seconds, ended) in enumerate(records)]
    for seconds, ended, _ in weighed:
        if not ended:
            continue
        survival = 1.0
        for time in sorted({s for s, e, _ in weighed if e and s <= seconds}):
            at_risk = 1 + sum(w for s, _, w in weighed if s >= time)
            survival *= 1 - sum(w for s, e, w in weighed if e and s == time) / at_risk
        below, above = quantile(model, 1 - survival - 1e-9), quantile(model, 1 - survival + 1e-9)
        assert below * (1 - 1e-6) <= seconds <= above * (1 + 1e-6)


def test_of_many_lognormal_run_times_the_quantiles_are_right() -> None:
    draw = random.Random(7)
    model = RuntimeModel()
    hits = {0.5: 0, 0.9: 0, 0.99: 0}
    for number in range(3000):
        size = draw.randrange(1, 10**9)
        seconds = (size / 1e6) ** 0.8 * math.exp(draw.gauss(0, 0.3))
        if number >= 1000:
            for q in hits:
                hits[q] += seconds <= quantile(model, q, size)
        model.observe(task(size), lasted(seconds))
    assert hits[0.5] / 2000 == pytest.approx(0.5, abs=0.04)
    assert hits[0.9] / 2000 == pytest.approx(0.9, abs=0.03)
    assert hits[0.99] / 2000 == pytest.approx(0.99, abs=0.008)
    assert len(json.dumps(model.state())) < 100 * runtime_model.KEPT, "however many there were"


@given(ATTEMPTS, st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.integers(0, 10**12))
def test_the_level_of_a_run_rises_with_its_run_time(
    attempts: list[tuple[float, Ending, int | None, int]], s: float, t: float, size: int
) -> None:
    fit = learned(attempts).fit()
    assert fit is not None
    short, long = (fit.level_of(task(size), seconds) for seconds in sorted((s, t)))
    assert 0 <= short <= long + 1e-9 <= 1 + 1e-9


@given(ATTEMPTS, st.floats(0.01, 0.999))
def test_the_level_of_a_quantile_is_that_quantile(
    attempts: list[tuple[float, Ending, int | None, int]], q: float
) -> None:
    fit = learned(attempts).fit()
    assert fit is not None
    between = len(set(fit.residuals)) == len(fit.residuals) and min(abs(1 - q - each) for each in fit.survival) > 1e-3
    assume(between and 1 - q < fit.survival[0] and fit.quantile(task(), q) < 1e15)
    assert fit.level_of(task(), fit.quantile(task(), q)) == pytest.approx(q, abs=1e-4)
