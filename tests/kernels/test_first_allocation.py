"""The first allocation of min-waste and max-throughput: by hand, and against trying every peak from the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.kernels.first_allocation import least_waste, most_throughput

Pairs = list[tuple[int, int]]


def chosen(pairs: Pairs) -> tuple[float, float]:
    """What min-waste and max-throughput give."""
    pairs = sorted(pairs)
    values = np.array([value for value, _ in pairs], np.float64)
    times_s = np.array([seconds for _, seconds in pairs], np.float64)
    return float(values[least_waste(values, times_s)]), float(values[most_throughput(values, times_s)])


def waste(first: float, pairs: Pairs) -> float:
    greatest = max(value for value, _ in pairs)
    mean_s = sum(seconds for _, seconds in pairs) / len(pairs)
    above_s = sum(seconds for value, seconds in pairs if value > first) / len(pairs)
    return first * mean_s + greatest * above_s


def throughput(first: float, pairs: Pairs) -> float:
    greatest = max(value for value, _ in pairs)
    enough = sum(value <= first for value, _ in pairs) / len(pairs)
    mean_s = sum(seconds for _, seconds in pairs) / len(pairs)
    above_s = sum(seconds for value, seconds in pairs if value > first) / len(pairs)
    return (greatest / first * enough + (1 - enough)) / (mean_s + above_s)


@pytest.mark.parametrize(
    ("pairs", "least", "most"),
    [
        # Nine of ten need 1, one needs 10: 1·60 + 10·6 = 120 against 10·60.
        # Throughput: (10·0.9 + 0.1) / 66 = 0.138 against 1/60 = 0.017.
        ([(1, 60)] * 9 + [(10, 60)], 1, 1),
        # Half need 6, half 10: 6·60 + 10·30 = 660 against 10·60 = 600.
        # Throughput: (10/6·0.5 + 0.5) / 90 = 0.0148 against 0.0167.
        ([(6, 60)] * 5 + [(10, 60)] * 5, 10, 10),
        # 2, 5 and 10 with τ̄ = 60: 2·60 + 10·30 = 420; 5·60 + 10·6 = 360; 600.
        # Throughput: (5·0.5 + 0.5) / 90 = 0.0333; (2·0.9 + 0.1) / 66 = 0.0288; 0.0167. Here the two disagree.
        ([(2, 60)] * 5 + [(5, 60)] * 4 + [(10, 60)], 5, 2),
        # Run times count: those that need 6 take 1 s, those that need 10 take 99 s: 6·50 + 10·49.5 against 500.
        ([(6, 1)] * 5 + [(10, 99)] * 5, 10, 10),
        # And the other way round: 6·50 + 10·0.5 = 305; (10/6·0.5 + 0.5) / 50.5 = 0.0264 against 0.02.
        ([(6, 99)] * 5 + [(10, 1)] * 5, 6, 6),
        ([(4, 60)], 4, 4),
        ([(4, 60)] * 10, 4, 4),
    ],
)
def test_by_hand(pairs: Pairs, least: float, most: float) -> None:
    assert chosen(pairs) == (least, most)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 100)), min_size=1, max_size=60))
def test_no_peak_is_better(pairs: Pairs) -> None:
    least, most = chosen(pairs)
    peaks = {value for value, _ in pairs}
    assert waste(least, pairs) == pytest.approx(min(waste(peak, pairs) for peak in peaks), rel=1e-12)
    assert throughput(most, pairs) == pytest.approx(max(throughput(peak, pairs) for peak in peaks), rel=1e-12)
