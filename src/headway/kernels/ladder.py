"""The cheapest sequence of allocations to try, for a task whose peak is distributed as those seen so far."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled_allocating, spliced, spliced_as

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

BIN = 0.05  # peaks whose logarithms differ by less share a bin, which keeps its maximum
MOST_RUNGS = 32
# The farthest that a peak is moved along the line, as a logarithm: an input twenty times as large is beyond what the
# line can tell.
FARTHEST = 3.0
FEWEST = 1e-200  # the weight of a record far away: not nothing
TAIL = 7  # values beyond the maximum


@spliced_as(lambda numbers: numbers)
def plain(numbers: Floats) -> Any:
    """Return the numbers as plain Python handles them fastest: as a list."""
    return numbers.tolist()


@spliced_as(lambda count: np.zeros(count, np.float64))
def zeros(count: int) -> Any:
    """Return so many zeros."""
    return [0.0] * count


@spliced_as(lambda count: np.zeros(count, np.int64))
def whole_zeros(count: int) -> Any:
    """Return so many zeros that are whole numbers."""
    return [0] * count


@spliced
def weigh(
    log_peaks: Floats, log_inputs: Floats, forget: float, log_input: float, bandwidth: float, weights: Floats
) -> float:
    """Fill `weights` with each record's weight by age and input size; return the slope of log peak over log input.

    The slope is fitted with twice the bandwidth, so to a wider neighbourhood. It is 0 where `log_input` is NaN.
    """
    records = len(log_peaks)
    age_weight = 1.0
    for index in range(records - 1, -1, -1):
        weights[index] = age_weight
        age_weight *= 1.0 - forget
    if math.isnan(log_input) or bandwidth <= 0.0:
        return 0.0
    nearest = math.inf
    for index in range(records):
        nearest = min(nearest, abs(log_inputs[index] - log_input))
    total = mean_x = mean_y = square = product = 0.0
    for index in range(records):
        away = abs(log_inputs[index] - log_input)
        if not away < math.inf:  # its input size is unknown
            weights[index] = FEWEST
            continue
        weight = weights[index] * math.exp((nearest - away) / (2.0 * bandwidth))
        weights[index] = max(FEWEST, weights[index] * math.exp(-away / bandwidth))
        # Weighted sums of squares and products, one record after the other: West (1979).
        total += weight
        step_x, step_y = log_inputs[index] - mean_x, log_peaks[index] - mean_y
        mean_x += step_x * weight / total
        mean_y += step_y * weight / total
        square += weight * step_x * (log_inputs[index] - mean_x)
        product += weight * step_x * (log_peaks[index] - mean_y)
    return min(1.0, max(-0.5, product / (square + 0.1)))  # peaks grow no faster than inputs


@spliced
def move(log_peaks: Floats, log_inputs: Floats, slope: float, log_input: float) -> Floats:
    """Return the peaks as they would be for an input of the task's size."""
    moved = log_peaks.copy()
    if slope != 0.0:
        for index in range(len(moved)):
            way = slope * (log_input - log_inputs[index])
            if not math.isnan(way):
                moved[index] = max(0.0, moved[index] + min(FARTHEST, max(-FARTHEST, way)))
    return moved


@spliced
def fill_bins(
    log_peaks: Floats, lowest: int, weights: Floats, run_s: Floats, values: Floats, masses: Floats, counts: Floats
) -> tuple[int, float, float]:
    """Sort the peaks into bins; return the number of bins in use, the sum of weights, and that of masses.

    A bin's value is its maximum, so that an allocation is always enough for some task. `lowest` is the first bin.
    """
    known = 0.0
    for index in range(len(log_peaks)):
        place = int(log_peaks[index] / BIN) - lowest
        values[place] = max(values[place], log_peaks[index])
        masses[place] += weights[index] * run_s[index]
        counts[place] += weights[index]
        known += weights[index]
    used = 0
    mass = 0.0
    for place in range(len(counts)):
        if counts[place] > 0.0:
            values[used] = math.exp(values[place]) * (1.0 + 1e-12)  # not a rounding error too little
            masses[used], counts[used] = masses[place], counts[place]
            mass += masses[place]
            used += 1
    return used, known, mass


@spliced
def add_tail(
    values: Floats, masses: Floats, counts: Floats, used: int, known: float, mass: float, spread: float
) -> float:
    """Append values beyond the maximum, with the mass of one more record; return the sum of all masses.

    The scale is the mean excess over the greatest sqrt(n) peaks, held near `spread` times the maximum while there are
    few. The tail falls off exponentially at first, and more slowly far out, since surprises are larger than that.
    """
    maximum = values[used - 1]
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
    beyond = mass / known if known > 1e-12 else 1.0
    for step, share in ((0.13, 0.4), (0.5, 0.25), (1.0, 0.15), (2.0, 0.1), (4.0, 0.05), (10.0, 0.03), (30.0, 0.02)):
        values[used] = maximum + scale * step
        masses[used], counts[used] = beyond * share, share
        mass += masses[used]
        used += 1
    return mass


@spliced
def climb_cheaply(
    values: Floats,
    masses: Floats,
    counts: Floats,
    mass: float,
    failed_share: float,
    lost_besides: float,
    fine: float,
    following: Whole,
) -> None:
    """Fill `following` with the next rung above each value (counted from 1; 0 is the start), from the top down.

    With S the mass and C the count above a value, f the share of its run time that an attempt lasts which fails, L what
    it holds besides, and F the fine for a failure, the least cost is
    D[i] = min over k > i of v_k (S_i - (1 - f) S_k) + f L S_k + F C_k + D[k]. These are lines in S_i, whose slopes fall
    and whose arguments rise as i falls, so that a queue of lines answers in O(n).
    """
    used = len(values)
    left = zeros(used + 1)  # the mass above each value; left[0]: all of it
    left[0] = mass
    for place in range(used):
        left[place + 1] = max(0.0, left[place] - masses[place])
    left[used] = 0.0
    slopes = zeros(used + 1)
    offsets = zeros(used + 1)
    lines = whole_zeros(used + 1)
    cost = fined = 0.0
    first = last = 0
    for place in range(used, 0, -1):  # the line of value `place`, then the answer for `place - 1`
        new_slope = values[place - 1]
        new_offset = cost + left[place] * failed_share * lost_besides - (1.0 - failed_share) * new_slope * left[place]
        new_offset += fined
        fined += fine * counts[place - 1]
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


@compiled_allocating
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
    fine: float,
    rungs: Floats,
) -> int:
    """Fill `rungs` with allocations v1 < v2 < … and return how many there are.

    The distribution is that of the peaks (at least 1 each, given as logarithms, oldest first), each weighted by its run
    time and by `1 - forget` to the power of its age. If `log_input` is a number, a record counts the more the nearer
    its own input size is (by a factor e for each `bandwidth`; a NaN is far from everything), and its peak is moved
    along a line through the logarithms of peaks over those of inputs. An attempt that fails costs `failed_share` of its
    run time times (its allocation + `lost_besides`), and a `fine` in amount times seconds. `spread` says how far the
    next maximum may lie above the last.
    """
    log_peaks, run_s, log_inputs = plain(log_peaks), plain(run_s), plain(log_inputs)
    weights = zeros(len(log_peaks))
    slope = weigh(log_peaks, log_inputs, forget, log_input, bandwidth, weights)
    moved = move(log_peaks, log_inputs, slope, log_input)
    least = greatest = moved[0]
    for log_peak in moved:
        least, greatest = min(least, log_peak), max(greatest, log_peak)
    lowest = int(least / BIN)
    bins = int(greatest / BIN) - lowest + 1
    values, masses, counts = zeros(bins + TAIL), zeros(bins + TAIL), zeros(bins + TAIL)
    used, known, mass = fill_bins(moved, lowest, weights, run_s, values, masses, counts)
    mass = add_tail(values, masses, counts, used, known, mass, spread)
    used += TAIL
    following = whole_zeros(used + 1)
    climb_cheaply(values[:used], masses[:used], counts[:used], mass, failed_share, lost_besides, fine, following)
    count = place = 0
    while place < used and count < len(rungs):
        place = following[place]
        rungs[count] = values[place - 1]
        count += 1
    return count


def price(rungs: Floats, count: int, peak: float, failed_share: float, lost_besides: float, fine: float = 0.0) -> float:
    """Return what a ladder costs a task beyond its peak, for each second of its run time.

    That is the rungs that are climbed in vain with a fine for each, and the rest of the one that is enough. After the
    last rung each next one is twice as large.
    """
    cost = 0.0
    for index in range(count):
        rung = float(rungs[index])
        if rung >= peak:
            return cost + rung - peak
        cost += failed_share * (rung + lost_besides) + fine
    rung = float(rungs[count - 1])
    while rung < peak:
        rung *= 2.0
        if rung < peak:
            cost += failed_share * (rung + lost_besides) + fine
    return cost + rung - peak
