"""The kernels make the choices that the paper's pseudocode makes, compiled or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.kernels.bucketing import exhaustive_buckets, exhaustive_cuts, greedy_buckets, greedy_cuts
from tests.kernels import bucketing_pseudocode

Pairs = list[tuple[float, int]]


def arrays(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    return np.array([value for value, _ in pairs], np.float64), np.array([sig for _, sig in pairs], np.int64)


def check(pairs: Pairs) -> None:
    """Run both algorithms on the records, sorted."""
    pairs = sorted(pairs, key=lambda pair: pair[0])
    exact = [(value if isinstance(value, int) else Fraction(value), sig) for value, sig in pairs]
    total_upto = list(accumulate(sig for _, sig in pairs))
    for ends, upto, expected in (
        (*greedy_buckets(*arrays(pairs)), bucketing_pseudocode.greedy_bucketing(0, len(exact) - 1, exact)),
        (*exhaustive_buckets(*arrays(pairs), 10), bucketing_pseudocode.exhaustive_bucketing(exact)),
    ):
        assert ends.tolist() == expected, pairs
        assert upto.tolist() == [total_upto[end] for end in expected]


def few_values(draw: random.Random, count: int) -> Pairs:
    """Many equal values and many ties."""
    most = draw.choice((2, 3, 6, 20))
    return [(draw.randint(1, most), draw.randint(1, 3)) for _ in range(count)]


def numbered(draw: random.Random, count: int) -> Pairs:
    """Whole megabytes, and significances as completion numbers them."""
    return [(draw.randint(1, 64_000), number) for number in range(1, count + 1)]


def skewed(draw: random.Random, count: int) -> Pairs:
    """Bytes from several orders of magnitude: many buckets."""
    return [(draw.lognormvariate(20, 2), draw.randint(1, count)) for _ in range(count)]


def clustered(draw: random.Random, count: int) -> Pairs:
    """Cores of three kinds of tasks."""
    return [(draw.choice((0.9, 4.0, 12.0)) + draw.random() / 8, draw.randint(1, count)) for _ in range(count)]


KINDS = (few_values, numbered, skewed, clustered)


def lists(seed: int, lists_each: int, least: int, most: int) -> Iterator[Pairs]:
    draw = random.Random(seed)
    for kind in KINDS:
        for _ in range(lists_each):
            yield kind(draw, draw.randint(least, most))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(2, 10))])
def test_same_choices_as_the_pseudocode_on_short_lists(seed: int) -> None:
    for pairs in lists(seed, 150, 1, 16):
        check(pairs)


def test_same_choices_as_the_pseudocode_on_long_lists() -> None:
    for pairs in lists(5, 5, 17, 200):
        check(pairs)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=14))
def test_same_choices_with_ties(pairs: Pairs) -> None:
    check(pairs)


def test_a_tie_goes_to_the_lowest_cut() -> None:
    """Cutting 1 | 2 costs as much as not cutting: 1/2·1 + 3/4·2 = 2. The lower index wins; k = 1 comes before k = 2."""
    assert greedy_buckets(*arrays([(1, 1), (2, 1)]))[0].tolist() == [0, 1]
    assert exhaustive_buckets(*arrays([(1, 1), (1, 1), (2, 1), (2, 1)]), 10)[0].tolist() == [3]


@pytest.mark.parametrize(
    "pairs",
    [
        [(1, 4), (2, 1), (2, 6), (3, 1), (3, 2), (5, 2)],
        [(1, 4), (13, 6), (14, 7), (27, 2), (27, 7), (44, 7)],
        [(14, 2), (24, 4), (40, 1), (43, 6), (43, 6), (71, 3), (75, 4), (79, 4)],
    ],
)
def test_rounding_does_not_break_a_tie(pairs: Pairs) -> None:
    """Two ways to cut cost exactly the same here, and not quite the same in floating point."""
    check(pairs)


def test_equal_records_are_one_bucket() -> None:
    for count in (1, 2, 50):
        for buckets in (greedy_buckets(*arrays([(7, 3)] * count)), exhaustive_buckets(*arrays([(7, 3)] * count), 10)):
            assert [part.tolist() for part in buckets] == [[count - 1], [3 * count]]


def test_compiled_computes_the_same() -> None:
    greedy, exhaustive = greedy_cuts.compile_now(), exhaustive_cuts.compile_now()
    for pairs in (*lists(6, 40, 1, 40), *lists(7, 3, 500, 1_000)):
        records = arrays(sorted(pairs))
        for kernels, more in (((greedy_cuts.plain, greedy), ()), ((exhaustive_cuts.plain, exhaustive), (10,))):
            found = []
            for kernel in kernels:
                ends, room = (np.empty(len(pairs) + 11, np.int64) for _ in range(2))
                count = kernel(records[0], np.cumsum(records[1]), *more, ends, room)  # type: ignore[operator]
                found.append(ends[:count].tolist())
            assert found[0] == found[1]


def test_a_long_list_is_cut_by_compiled_code_at_once() -> None:
    """Ten groups far apart, 200 records each: any sensible cut finds them."""
    pairs = [(4.0**group, 1) for group in range(10) for _ in range(200)]
    expected = [200 * group + 199 for group in range(10)]
    assert greedy_buckets(*arrays(pairs))[0].tolist() == expected
    assert exhaustive_buckets(*arrays(pairs), 10)[0].tolist()[-3:] == expected[-3:]
