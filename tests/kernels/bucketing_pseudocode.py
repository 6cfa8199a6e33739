"""Algorithms 1 and 2 of Phung and Thain 2024 as the paper writes them down: slow, obvious, and exact.

Records are (value, significance) pairs of whole numbers or fractions, sorted by value; of equal values the older comes
first. Both algorithms give the indices of the buckets' last records.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Record = tuple[Fraction | int, int]


def significance(records: Sequence[Record]) -> int:
    return sum(sig for _, sig in records)


def weighted_average(records: Sequence[Record]) -> Fraction:
    return Fraction(sum(value * sig for value, sig in records), significance(records))


def compute_greedy_cost(lo: int, i: int, hi: int, records: Sequence[Record]) -> Fraction:
    """Section IV-B: the four cases. With nothing above the cut only the first is left."""
    low, high = records[lo : i + 1], records[i + 1 : hi + 1]
    low_rep, high_rep = records[i][0], records[hi][0]
    total = significance(low) + significance(high)
    low_prob, high_prob = Fraction(significance(low), total), Fraction(significance(high), total)
    v_lo = weighted_average(low)
    w_lo_lo = low_prob * low_prob * (low_rep - v_lo)
    if not high:
        return w_lo_lo
    v_hi = weighted_average(high)
    w_lo_hi = low_prob * high_prob * (high_rep - v_lo)
    w_hi_lo = high_prob * low_prob * (low_rep + high_rep - v_hi)
    w_hi_hi = high_prob * high_prob * (high_rep - v_hi)
    return w_lo_lo + w_lo_hi + w_hi_lo + w_hi_hi


def greedy_bucketing(lo: int, hi: int, records: Sequence[Record]) -> list[int]:
    """Algorithm 1."""
    if lo == hi:
        return [lo]
    min_cost, break_idx = None, None
    for i in range(lo, hi + 1):
        cost = compute_greedy_cost(lo, i, hi, records)
        if min_cost is None or cost < min_cost:
            min_cost, break_idx = cost, i
    assert break_idx is not None
    if break_idx == hi:
        return [hi]
    return greedy_bucketing(lo, break_idx, records) + greedy_bucketing(break_idx + 1, hi, records)


def combinations(k: int, records: Sequence[Record]) -> list[int]:
    """Section IV-D: k - 1 candidates that break the space evenly, each mapped to the closest record that is lower."""
    v_max = records[-1][0]
    found = []
    for i in range(1, k):
        lower = [index for index, (value, _) in enumerate(records) if value < v_max * Fraction(i, k)]
        if lower and lower[-1] not in found:
            found.append(lower[-1])
    return found


def compute_exhaust_cost(breaks: Sequence[int], records: Sequence[Record]) -> Fraction:
    """Section IV-C: the table T, row by row from the last column to the first."""
    ends = [*breaks, len(records) - 1]
    starts = [0, *(end + 1 for end in ends[:-1])]
    buckets = [records[start : end + 1] for start, end in zip(starts, ends, strict=True)]
    n = len(buckets)
    rep = [bucket[-1][0] for bucket in buckets]
    prob = [Fraction(significance(bucket), significance(records)) for bucket in buckets]
    v = [weighted_average(bucket) for bucket in buckets]
    table = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in reversed(range(n)):
            if i <= j:
                table[i][j] = rep[j] - v[i]
            else:
                rest = sum(prob[j + 1 :], Fraction(0))
                retries = (prob[k] / rest * table[i][k] for k in range(j + 1, n))
                table[i][j] = rep[j] + sum(retries, Fraction(0))
    return sum((prob[i] * prob[j] * table[i][j] for i in range(n) for j in range(n)), Fraction(0))


def exhaustive_bucketing(records: Sequence[Record], most: int = 10) -> list[int]:
    """Algorithm 2, with k at most 10 (section V-A)."""
    min_cost, break_indices = None, None
    for k in range(min(len(records) - 1, most) + 1):
        candidates = combinations(k, records)
        cost = compute_exhaust_cost(candidates, records)
        if min_cost is None or cost < min_cost:
            min_cost, break_indices = cost, candidates
    assert break_indices is not None
    return [*break_indices, len(records) - 1]
