"""The binomial bound, by hand, and what counts as a change."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.waiting.base import Shape
from headway.waiting.quantile_bound import CONFIDENCE, FEWEST, MOST, QuantileBound, bound_rank, too_many

JOB = Shape(nodes=4, asked_s=3600.0)


def told(waits_s: list[float], shape: Shape = JOB) -> QuantileBound:
    model = QuantileBound()
    for waited_s in waits_s:
        model.observe(shape, {}, waited_s)
    return model


def test_by_hand() -> None:
    """1 - 0.5^5 = 0.969: the longest of five is above the median with 95% confidence, that of four is not (0.9375).

    Of 8, P(B < 7) = 1 - (8 + 1) / 256 = 0.965 and P(B < 6) = 1 - (28 + 8 + 1) / 256 = 0.855: the seventh.
    """
    assert bound_rank(4, 0.5) is None
    assert bound_rank(5, 0.5) == 5
    assert bound_rank(8, 0.5) == 7
    assert bound_rank(58, 0.95) is None and bound_rank(FEWEST, 0.95) == FEWEST
    assert told([30.0, 10.0, 80.0, 20.0, 50.0, 70.0, 60.0, 40.0]).predict(JOB).wait_s == 70.0


@given(count=st.integers(0, 300), share=st.sampled_from([0.05, 0.3, 0.5, 0.9, 0.95]))
def test_the_rank_is_the_least_that_will_do(count: int, share: float) -> None:
    def below(rank: int) -> float:
        return sum(comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(rank))

    rank = bound_rank(count, share)
    if rank is None:
        assert below(count) < CONFIDENCE + 1e-9
    else:
        assert below(rank) >= CONFIDENCE - 1e-9
        assert rank == 1 or below(rank - 1) < CONFIDENCE + 1e-9


def test_the_bound_holds_as_often_as_it_says() -> None:
    """The 90% quantile of an exponential distribution is ln 10; the bound is below it in at most 5% of samples."""
    draw = np.random.default_rng(4)
    rank = bound_rank(100, 0.9)
    assert rank is not None
    bounds = np.sort(draw.exponential(size=(4000, 100)), axis=1)[:, rank - 1]
    assert (bounds < np.log(10)).mean() < 0.05
    assert (np.sort(draw.exponential(size=(4000, 100)), axis=1)[:, rank - 2] < np.log(10)).mean() > 0.05


def test_with_too_few_waits_the_longest_is_the_bound() -> None:
    assert QuantileBound().quantiles(JOB, [0.5, 0.95]) == [0.0, 0.0]
    assert told([5.0, 9.0, 7.0]).quantiles(JOB, [0.5, 0.95]) == [9.0, 9.0]


def test_a_small_cluster_is_answered_by_all_jobs() -> None:
    model = told([float(number * 37 % 100) for number in range(100)], Shape(nodes=64, asked_s=60.0))
    model.observe(JOB, {}, 3.0)
    assert model.quantiles(JOB, [0.5, 0.95]) == model.quantiles(Shape(nodes=64, asked_s=60.0), [0.5, 0.95])


def test_three_in_a_row_beyond_the_bound_are_a_change() -> None:
    """Independent waits: one or two outliers are chance, with the third the history is cut to 59."""
    draw = np.random.default_rng(1)
    calm = draw.uniform(10, 20, 200).tolist()
    assert too_many(calm) == 3
    assert len(told([*calm, 90.0, 91.0]).state()["clusters"]["4 nodes, 3600 s"]["waits_s"]) == 202
    cut = told([*calm, 90.0, 91.0, 92.0]).state()["clusters"]["4 nodes, 3600 s"]["waits_s"]
    assert len(cut) == FEWEST and cut[-3:] == [90.0, 91.0, 92.0]
    assert told([*calm, 90.0, 91.0, 92.0]).quantiles(JOB, [0.95]) == [92.0]


def test_correlated_waits_need_more_in_a_row() -> None:
    steady = np.sin(np.arange(300) / 20) + 2
    assert too_many(steady.tolist()) == 38
    assert too_many([5.0] * 100) == 3 and too_many([]) == 3


@pytest.mark.parametrize(("before_s", "after_s"), [(1000.0, 10.0), (10.0, 1000.0)])
def test_the_bound_recovers_after_a_change(before_s: float, after_s: float) -> None:
    draw = np.random.default_rng(2)
    before = (before_s * draw.uniform(0.9, 1.1, 300)).tolist()
    after = (after_s * draw.uniform(0.9, 1.1, 150)).tolist()
    found = told(before + after).quantiles(JOB, [0.5, 0.95])
    assert all(0.9 * after_s <= each <= 1.1 * after_s for each in found)


def test_a_censored_wait_counts_only_beyond_the_bound() -> None:
    model = told([float(number * 37 % 100) for number in range(100)])
    before = model.state()
    model.observe(JOB, {}, 50.0, censored=True)
    assert model.state() == before
    model.observe(JOB, {}, 500.0, censored=True)
    assert model.state()["clusters"]["4 nodes, 3600 s"]["waits_s"][-1] == 500.0


def test_memory_is_bounded() -> None:
    draw = np.random.default_rng(3)
    model = told(draw.uniform(0, 1, 3 * MOST).tolist())
    assert all(len(cluster["waits_s"]) <= MOST for cluster in model.state()["clusters"].values())
