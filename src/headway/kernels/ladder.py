"""The cheapest sequence of allocations to try, for a task whose peak is like those seen so far."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled_when_busy

Floats = NDArray[np.float64]

BIN = 0.05  # values that differ by less share a bin, which keeps its maximum
MOST_RUNGS = 32
FARTHEST = 3.0  # that a peak is moved, as a logarithm: twenty times as large an input is beyond what a line can tell


@compiled_when_busy(calls=1000)
def rungs_of(
    log_peaks: Floats,
    run_s: Floats,
    log_inputs: Floats,
    forget: float,
    log_input: float,
    bandwidth: float,
    failed_share: float,
    lost_besides: float,
    spread: float,
    rungs: Floats,
) -> int:
    """Fill `rungs` with allocations v1 < v2 < … and return how many there are.

    The distribution is that of the peaks (at least 1 each, given as logarithms, oldest first), each weighed by its run
    time and by `1 - forget` to the power of its age. If `log_input` is a number, a record counts the more the nearer
    its own input is (by a factor e for each `bandwidth`; NaN is far from everything), and its peak is moved along a
    line through the logarithms of peaks over those of inputs, fitted to a wider neighbourhood.

    Beyond the maximum there is a tail of mass 1/(n+1), with the mean excess over the greatest sqrt(n) peaks as its
    scale, held near `spread` times the maximum while there are few; it falls off exponentially at first, and more
    slowly far out, since surprises are larger than that.

    An attempt that fails costs `failed_share` of its run time times (its allocation + `lost_besides`). With S the mass
    above a rung, D[i] = min over k > i of v_k (S_i - (1 - f) S_k) + f L S_k + D[k]: lines in S_i, whose slopes fall and
    whose arguments rise as i falls, so that a queue of lines answers in O(n).
    """
    records = len(log_peaks)
    nearness = np.ones(records)
    age_weight = 1.0
    for index in range(records - 1, -1, -1):
        nearness[index] = age_weight
        age_weight *= 1.0 - forget
    slope = 0.0
    if log_input == log_input and bandwidth > 0.0:  # noqa: PLR0124 - not NaN
        nearest = math.inf
        for index in range(records):
            nearest = min(nearest, abs(log_inputs[index] - log_input))
        total = mean_x = mean_y = square = product = 0.0
        for index in range(records):
            away = abs(log_inputs[index] - log_input)
            if not away < math.inf:  # nobody knows its input
                nearness[index] = 1e-200
                continue
            weight = nearness[index] * math.exp((nearest - away) / (2.0 * bandwidth))
            nearness[index] = max(1e-200, nearness[index] * math.exp(-away / bandwidth))  # far away, not nowhere
            # Weighted sums of squares and products, one record after the other: West (1979).
            total += weight
            step_x, step_y = log_inputs[index] - mean_x, log_peaks[index] - mean_y
            mean_x += step_x * weight / total
            mean_y += step_y * weight / total
            square += weight * step_x * (log_inputs[index] - mean_x)
            product += weight * step_x * (log_peaks[index] - mean_y)
        slope = min(1.0, max(-0.5, product / (square + 0.1)))  # no faster than its input
    # Bins: each keeps its maximum, so that an allocation is always enough for somebody.
    moved = log_peaks.copy()
    if slope != 0.0:
        for index in range(records):
            way = slope * (log_input - log_inputs[index])
            if way == way:  # noqa: PLR0124 - not NaN
                moved[index] = max(0.0, moved[index] + min(FARTHEST, max(-FARTHEST, way)))
    lowest = int(moved.min() / BIN)
    bins = int(moved.max() / BIN) - lowest + 1
    values = np.zeros(bins + 7)
    masses = np.zeros(bins + 7)
    counts = np.zeros(bins)
    known = 0.0
    for index in range(records):
        place = int(moved[index] / BIN) - lowest
        values[place] = max(values[place], moved[index])
        masses[place] += nearness[index] * run_s[index]
        counts[place] += nearness[index]
        known += nearness[index]
    used = 0
    mass = 0.0
    for place in range(bins):
        if counts[place] > 0.0:
            values[used] = math.exp(values[place]) * (1.0 + 1e-12)  # not a rounding error too little
            masses[used], counts[used] = masses[place], counts[place]
            mass += masses[place]
            used += 1
    maximum = values[used - 1]
    # The tail.
    wanted = math.sqrt(known) + 1.0
    above = excess = 0.0
    threshold = maximum
    for place in range(used - 1, -1, -1):
        threshold = values[place]
        above += counts[place]
        if above >= wanted:
            break
    for place in range(used - 1, -1, -1):
        if values[place] <= threshold:
            break
        excess += (values[place] - threshold) * counts[place]
    scale = (excess + 2.0 * spread * maximum) / (max(0.0, above - 1.0) + 2.0)
    beyond = mass / known if known > 1e-12 else 1.0  # as much as one record weighs
    for step, share in ((0.13, 0.4), (0.5, 0.25), (1.0, 0.15), (2.0, 0.1), (4.0, 0.05), (10.0, 0.03), (30.0, 0.02)):
        values[used] = maximum + scale * step
        masses[used] = beyond * share
        mass += masses[used]
        used += 1
    # The cheapest way up, from the top down.
    left = np.zeros(used + 1)  # the mass above each value; left[0]: all of it
    left[0] = mass
    for place in range(used):
        left[place + 1] = max(0.0, left[place] - masses[place])
    left[used] = 0.0
    following = np.zeros(used + 1, dtype=np.int64)
    slopes = np.zeros(used + 1)
    offsets = np.zeros(used + 1)
    lines = np.zeros(used + 1, dtype=np.int64)
    cost = 0.0
    first = last = 0
    for place in range(used, 0, -1):  # the line of value `place`, counted from 1, then the answer for `place - 1`
        new_slope = values[place - 1]
        new_offset = cost + left[place] * failed_share * lost_besides - (1.0 - failed_share) * new_slope * left[place]
        while last - first >= 2:
            middle, before = last - 1, last - 2
            if (new_offset - offsets[before]) * (slopes[before] - slopes[middle]) <= (
                offsets[middle] - offsets[before]
            ) * (slopes[before] - new_slope):
                last -= 1
            else:
                break
        slopes[last], offsets[last], lines[last] = new_slope, new_offset, place
        last += 1
        here = left[place - 1]
        while last - first >= 2 and here * (slopes[first + 1] - slopes[first]) <= offsets[first] - offsets[first + 1]:
            first += 1
        cost = slopes[first] * here + offsets[first]
        following[place - 1] = lines[first]
    count = 0
    place = 0
    while place < used and count < len(rungs):
        place = following[place]
        rungs[count] = values[place - 1]
        count += 1
    return count


def price(rungs: Floats, count: int, peak: float, failed_share: float, lost_besides: float) -> float:
    """What a ladder costs a task, for each second of its run time, beyond its peak: rungs that are climbed in vain, and
    the rest of the one that is enough. After the last rung comes twice as much, and so on."""
    cost = 0.0
    for index in range(count):
        rung = float(rungs[index])
        if rung >= peak:
            return cost + rung - peak
        cost += failed_share * (rung + lost_besides)
    rung = float(rungs[count - 1])
    while rung < peak:
        rung *= 2.0
        if rung < peak:
            cost += failed_share * (rung + lost_besides)
    return cost + rung - peak
