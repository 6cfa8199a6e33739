"""Where to cut sorted records into buckets: Algorithms 1 and 2 of Phung and Thain 2024, with the sums written out.

Both functions take records sorted by value with their significances (positive whole numbers, so that sums are exact).
They return, for each bucket from the lowest up, the index of its last record and the significance of all records up to
there.

The paper computes the expected waste of every cut from its definition. Written out, most terms cancel, and the rest is
computed from running sums. With s the significance of the records up to a cut and S that of all in the range, r the
value at the cut and R the greatest, section IV-B's four cases add up to

    W = s/S · r + (1 - (s/S)²) · R - mean,      least where  s · (S·r - s·R)  is least.

Section IV-C's table T sums up, with p the buckets' probabilities and Q that of a bucket and those above it, to

    W = Σ_i p_i / Q_i · (Σ_{k≥i} p_k·rep_k + rep_i · Q_{i+1}) - mean.

The mean of all records is the same for every choice and left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled

Values = NDArray[np.float64]
Whole = NDArray[np.int64]

# Up to this many records plain Python takes milliseconds; with more, the kernel is compiled at once.
MANY_RECORDS = 1_000


def greedy_buckets(values: Values, significances: Whole) -> tuple[Whole, Whole]:
    """Algorithm 1: cut where the expected waste is least, then below and above, until not cutting is best."""
    count = len(values)
    if count > MANY_RECORDS:
        greedy_cuts.compile_now()
    upto, ends = np.cumsum(significances), _room(count)
    found = ends[: greedy_cuts(values, upto, ends, _room(count))]
    return found, upto[found]


def exhaustive_buckets(values: Values, significances: Whole, most: int) -> tuple[Whole, Whole]:
    """Algorithm 2 with the candidates of section IV-D: the k up to `most` with the least expected waste.

    For each k, the cuts are at the records just below i/k of the greatest value.
    """
    count = len(values)
    if count > MANY_RECORDS:
        exhaustive_cuts.compile_now()
    upto, best = np.cumsum(significances), _room(most + 1)
    found = best[: exhaustive_cuts(values, upto, most, best, _room(most + 1))]
    return found, upto[found]


def _room(count: int) -> Whole:
    return np.empty(count, np.int64)


# The next two take the running sum of the significances, and work in arrays that the caller provides: allocating their
# own would double the time to compile them.


@compiled
def greedy_cuts(values: Values, upto: Whole, ends: Whole, waiting: Whole) -> int:
    """Fill `ends` with the buckets' last indices; return how many. `waiting` is scratch space.

    Of cuts that cost the same the lowest is taken, as by the strict comparison in the paper.
    """
    buckets = 0
    waiting[0] = len(values) - 1  # the ends of ranges still to be cut: each begins where the one below it ends
    ranges = 1
    low = 0
    while ranges:
        high = waiting[ranges - 1]
        below = upto[low - 1] if low else 0
        total = float(upto[high] - below)
        greatest = values[high]
        cut = high
        least = np.inf
        for index in range(low, high + 1):
            weight = float(upto[index] - below)
            cost = weight * (total * values[index] - weight * greatest)
            if cost < least:
                least = cost
                cut = index
        if cut == high:
            ends[buckets] = high
            buckets += 1
            ranges -= 1
            low = high + 1
        else:  # go on below the cut; the part above it waits
            waiting[ranges] = cut
            ranges += 1
    return buckets


@compiled
def exhaustive_cuts(values: Values, upto: Whole, most: int, best: Whole, ends: Whole) -> int:
    """Fill `best` with the buckets' last indices; return how many. `ends` is scratch space.

    Of several k that cost the same, the smallest is taken; costs that differ by rounding only count as the same.
    """
    count = len(values)
    best_buckets = 0
    least = np.inf
    for k in range(min(most, count - 1) + 1):
        buckets = 0
        for i in range(1, k):
            candidate = values[count - 1] * i / k
            end = -1  # the last record that is lower: all up to it are, none from `beyond` on is
            beyond = count
            while beyond - end > 1:
                middle = (end + beyond) // 2
                if values[middle] < candidate:
                    end = middle
                else:
                    beyond = middle
            if end >= 0 and (buckets == 0 or end > ends[buckets - 1]):
                ends[buckets] = end
                buckets += 1
        ends[buckets] = count - 1
        buckets += 1
        cost = 0.0
        weighted = 0.0  # significance times representative, of this bucket and those above
        above = 0.0
        for bucket in range(buckets - 1, -1, -1):
            below = upto[ends[bucket - 1]] if bucket else 0
            weight = float(upto[ends[bucket]] - below)
            representative = values[ends[bucket]]
            weighted += weight * representative
            cost += weight * (weighted + representative * above) / (weight + above)
            above += weight
        if cost < least * (1 - 1e-12):
            least = cost
            best_buckets = buckets
            for bucket in range(buckets):
                best[bucket] = ends[bucket]
    return best_buckets
