"""Where to cut sorted records into buckets: 001's Algorithms 1 and 2, with the sums written out.

Both take records sorted by value with their significances (positive whole numbers, so that sums are exact) and give,
for each bucket from the lowest up, the index of its last record and the significance of all records up to there.

The paper computes the expected waste of every cut from its definition. Written out, most of it cancels, and what stays
is computed from running sums. With s the significance of the records up to a cut and S that of all in the range, r the
value at the cut and R the greatest, section IV-B's four cases add up to

    W = s/S · r + (1 - (s/S)²) · R - mean,      least where  s · (S·r - s·R)  is least.

Section IV-C's table T sums up, with p the buckets' probabilities and Q that of a bucket and those above it, to

    W = Σ_i p_i / Q_i · (Σ_{k≥i} p_k·rep_k + rep_i · Q_{i+1}) - mean.

The mean of all records is the same for every choice and left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled_when_busy

Values = NDArray[np.float64]
Whole = NDArray[np.int64]

# A plain call takes a tenth of a millisecond or more, compiling a second: after some hundreds a run is a long one.
MANY_CALLS = 500
# Up to so many records plain Python takes milliseconds; with more nobody should wait for so many calls.
MANY_RECORDS = 1_000


def greedy_buckets(values: Values, significances: Whole) -> tuple[Whole, Whole]:
    """Algorithm 1: cut where the expected waste is least, then do the same below and above, until no cut is best."""
    count = len(values)
    if count > MANY_RECORDS:
        greedy_cuts.compile_now()
    upto, ends, waiting = _room(count), _room(count), _room(count)
    found = ends[: greedy_cuts(values, significances, upto, ends, waiting)]
    return found, upto[found]


def exhaustive_buckets(values: Values, significances: Whole, most: int) -> tuple[Whole, Whole]:
    """Algorithm 2 with section IV-D's candidates: for each k up to `most`, cut at the records just below i/k of the
    greatest value; the k of the least expected waste."""
    count = len(values)
    if count > MANY_RECORDS:
        exhaustive_cuts.compile_now()
    upto, best, ends = _room(count), _room(most + 1), _room(most + 1)
    found = best[: exhaustive_cuts(values, significances, most, upto, best, ends)]
    return found, upto[found]


def _room(count: int) -> Whole:
    return np.empty(count, np.int64)


# The two below work in arrays that they are handed: with arrays of their own compiling takes twice as long.


@compiled_when_busy(MANY_CALLS)
def greedy_cuts(values: Values, significances: Whole, upto: Whole, ends: Whole, waiting: Whole) -> int:
    """Writes the running sum of significances into `upto`, the buckets' last indices into `ends`, and says how many
    there are.

    Of cuts that cost the same the lowest is taken, as by the strict comparison in the paper.
    """
    running = 0
    for index in range(len(values)):
        running += significances[index]
        upto[index] = running
    buckets = 0
    waiting[0] = len(values) - 1  # the ends of ranges still to be cut: each begins where the one below it ends
    ranges = 1
    low = 0
    while ranges:
        high = waiting[ranges - 1]
        below = upto[low] - significances[low]
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
        else:  # what is below the cut is next, what is above it waits
            waiting[ranges] = cut
            ranges += 1
    return buckets


@compiled_when_busy(MANY_CALLS)
def exhaustive_cuts(values: Values, significances: Whole, most: int, upto: Whole, best: Whole, ends: Whole) -> int:
    """Writes the running sum of significances into `upto`, the buckets' last indices into `best`, and says how many
    there are; `ends` is room to work in.

    The smallest k of those that cost the same. Costs that differ by less than rounding does are the same: with exact
    numbers they would be.
    """
    count = len(values)
    running = 0
    for index in range(count):
        running += significances[index]
        upto[index] = running
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
