"""The ladder's kernel: no other sequence of amounts costs less, and machine code computes the same."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.kernels.ladder import BIN, MOST_RUNGS, price, rungs_of

TAIL = ((0.13, 0.4), (0.5, 0.25), (1.0, 0.15), (2.0, 0.1), (4.0, 0.05), (10.0, 0.03), (30.0, 0.02))


def climb(
    peaks: list[float], run_s: list[float], failed: float = 1.0, besides: float = 0.0, **how: float
) -> list[float]:
    rungs = np.zeros(MOST_RUNGS)
    count = rungs_of.plain(
        np.log(np.array(peaks)),
        np.array(run_s),
        np.array(how.get("inputs", [0.0] * len(peaks))),
        how.get("forget", 0.0),
        how.get("log_input", math.nan),
        how.get("bandwidth", 0.0),
        failed,
        besides,
        how.get("spread", 0.1),
        how.get("fine", 0.0),
        rungs,
    )
    return rungs[:count].tolist()


def distribution(peaks: list[float], run_s: list[float], spread: float = 0.1) -> list[tuple[float, float, float]]:
    """Compute values, masses and counts as the kernel's docstring describes them, in another way."""
    bins: dict[int, list[tuple[float, float]]] = {}
    for peak, seconds in zip(peaks, run_s, strict=True):
        bins.setdefault(int(math.log(peak) / BIN), []).append((peak, seconds))
    table = sorted((max(p for p, _ in inside), sum(s for _, s in inside), len(inside)) for inside in bins.values())
    greatest = table[-1][0]
    wanted, above, threshold = math.sqrt(len(peaks)) + 1, 0, greatest
    for value, _, count in reversed(table):
        threshold, above = value, above + count
        if above >= wanted:
            break
    excess = sum((value - threshold) * count for value, _, count in table if value > threshold)
    scale = (excess + 2 * spread * greatest) / (above - 1 + 2)
    one_record = sum(run_s) / len(run_s)
    return table + [(greatest + scale * step, one_record * share, share) for step, share in TAIL]


def expected(
    ladder: list[float], masses: list[tuple[float, float, float]], failed: float, besides: float, fine: float
) -> float:
    """Compute the cost of a ladder, peak by peak."""
    cost = 0.0
    for peak, mass, count in masses:
        for rung in ladder:
            if rung >= peak * (1 - 1e-12):
                cost += mass * rung
                break
            cost += mass * failed * (rung + besides) + count * fine
    return cost


@given(
    st.lists(st.tuples(st.floats(2.0, 1e12), st.floats(1.0, 1e5)), min_size=1, max_size=4),
    st.floats(0.05, 1.0),
    st.floats(0.0, 1e10),
    st.sampled_from([0.0, 1e9, 1e12, 1e17]),
)
def test_no_other_ladder_is_cheaper(
    records: list[tuple[float, float]], failed: float, besides: float, fine: float
) -> None:
    peaks, run_s = [peak for peak, _ in records], [seconds for _, seconds in records]
    masses = distribution(peaks, run_s)
    values = [value for value, _, _ in masses]
    others = ([*steps, values[-1]] for size in range(len(values)) for steps in combinations(values[:-1], size))
    cheapest = min(expected(ladder, masses, failed, besides, fine) for ladder in others)
    found = climb(peaks, run_s, failed, besides, fine=fine)
    assert expected(found, masses, failed, besides, fine) == pytest.approx(cheapest, rel=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_plain_and_compiled_are_the_same_to_the_last_bit(seed: int) -> None:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 80))
    inputs = draw.normal(20, 2, size)
    arguments = (
        np.log(np.maximum(1.0, np.exp(draw.normal(20, draw.uniform(0.01, 2), size)))),
        draw.exponential(100, size) + 1,
        inputs,
        float(draw.choice([0.0, 0.02])),
        float(draw.choice([math.nan, inputs[0], 50.0])),
        float(draw.choice([0.0, 0.1, 0.3])),
        float(draw.uniform(0.01, 1)),
        float(draw.uniform(0, 1e9)),
        0.1,
        float(draw.choice([0.0, 1e11])),
    )
    plain, compiled = np.zeros(MOST_RUNGS), np.zeros(MOST_RUNGS)
    assert rungs_of.plain(*arguments, plain) == rungs_of.compile_now()(*arguments, compiled)
    assert plain.tolist() == compiled.tolist()


@given(st.lists(st.floats(1.0, 1e15), min_size=1, max_size=60), st.floats(0.01, 1))
def test_rungs_ascend_beyond_the_greatest_peak(peaks: list[float], failed: float) -> None:
    rungs = climb(peaks, [1.0] * len(peaks), failed)
    assert all(low < high for low, high in pairwise(rungs))
    assert rungs[-1] > max(peaks)
    assert all(math.isfinite(rung) for rung in rungs)


def test_it_pads_while_little_is_known_and_less_when_much_is() -> None:
    rooms = [climb([1e9] * count, [1.0] * count)[0] / 1e9 for count in (1, 10, 1000)]
    assert rooms[0] > rooms[1] > rooms[2] >= 1.0
    assert rooms[0] > 1.05
    assert rooms[2] < 1.01


def test_cheap_failures_make_for_low_rungs() -> None:
    peaks, run_s = [1e9] * 80 + [9e9] * 20, [1.0] * 100
    assert climb(peaks, run_s, failed=0.01)[0] < 1.1e9
    assert climb(peaks, run_s, failed=1.0, besides=100e9)[0] >= 9e9


def test_a_fine_for_failures_makes_for_high_rungs_where_tasks_are_short() -> None:
    peaks = [1e9] * 80 + [9e9] * 20
    assert climb(peaks, [1.0] * 100, fine=1e12)[0] >= 9e9
    assert climb(peaks, [10_000.0] * 100, fine=1e12) == climb(peaks, [10_000.0] * 100)


def test_long_tasks_count_for_more() -> None:
    peaks = [1e9] * 90 + [9e9] * 10
    assert climb(peaks, [1.0] * 100)[0] < 1.2e9
    assert climb(peaks, [1.0] * 90 + [1000.0] * 10)[0] >= 9e9


def test_recent_records_count_for_more() -> None:
    peaks = [9e9] * 190 + [1e9] * 10
    assert climb(peaks, [1.0] * 200)[0] >= 9e9
    assert climb(peaks, [1.0] * 200, forget=0.2)[0] < 1.5e9


def test_inputs_move_peaks_along() -> None:
    inputs = np.linspace(18, 22, 40)
    peaks = np.exp(inputs + 1.0).tolist()
    for log_input in (18.5, 21.0, 23.0):  # the last one is larger than any before
        first = climb(peaks, [1.0] * 40, inputs=inputs, log_input=log_input, bandwidth=0.3)[0]
        assert first == pytest.approx(math.exp(log_input + 1.0), rel=0.25)


def test_price() -> None:
    rungs = np.array([2.0, 5.0])
    assert price(rungs, 2, 1.5, 1.0, 0.0) == 0.5
    assert price(rungs, 2, 4.0, 1.0, 0.0) == 2.0 + 1.0
    assert price(rungs, 2, 4.0, 0.5, 10.0) == 0.5 * 12.0 + 1.0
    assert price(rungs, 2, 18.0, 1.0, 0.0, fine=100.0) == 2.0 + 5.0 + 10.0 + 2.0 + 300.0
    assert price(rungs, 2, 18.0, 1.0, 0.0) == 2.0 + 5.0 + 10.0 + 2.0  # 2, 5, then 10, then 20


@pytest.mark.parametrize("log_input", [-1e3, 0.0, 1e3])
def test_an_input_size_far_from_all_others_gets_an_answer(log_input: float) -> None:
    rungs = climb([1e9, 2e9], [1.0, 1.0], inputs=[20.0, 21.0], log_input=log_input, bandwidth=0.01)
    assert all(math.isfinite(rung) and rung >= 1.0 for rung in rungs)
    assert all(low < high for low, high in pairwise(rungs))
