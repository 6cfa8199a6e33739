"""A load on a timer: what it draws in every minute, and what a recording looks like folded on its period."""

from __future__ import annotations

import numpy as np

from power.period import Array

FOLD_BINS = 96


def share_on(minute: Array, period_min: float, duty: float, phase: float) -> Array:
    """The share of each minute in which it runs: the increase of its running time over the minute."""

    def running_time_min(at: Array) -> Array:
        cycles = at / period_min + phase
        whole = np.floor(cycles)
        return period_min * (whole * duty + np.minimum(cycles - whole, duty))

    return running_time_min(minute + 1) - running_time_min(minute)


def bins(minute: Array, cycles_per_day: float) -> Array:
    """The bin of the cycle that a minute falls into."""
    return (np.mod(minute * (cycles_per_day / 1440), 1.0) * FOLD_BINS).astype(int)


def fold(minute: Array, watts: Array, cycles_per_day: float) -> dict[str, Array]:
    """Number and sum of readings in each bin of the cycle."""
    there = np.isfinite(watts)
    where = bins(minute[there], cycles_per_day)
    return {
        "fold_count": np.bincount(where, minlength=FOLD_BINS),
        "fold_sum": np.bincount(where, weights=watts[there], minlength=FOLD_BINS),
    }


def square_wave(count: Array, total: Array, noise_w: float) -> dict[str, float]:
    """Power and duty cycle of the on-off load in a fold, with their standard errors for known noise.

    Power is the difference of the high and low bins; bins next to an edge hold some of both and are left out.
    The share of time follows from the mean over all bins, to which edges contribute what they should. Both are
    linear in the bins (the second to first order), whose errors are independent, so errors propagate exactly.
    """
    mean = total / count
    middle = (mean.max() + mean.min()) / 2
    high = mean > middle
    inside = (high == np.roll(high, 1)) & (high == np.roll(high, -1))
    on, off, everything = high & inside, ~high & inside, np.ones(len(mean), bool)
    weight = {name: chosen / chosen.sum() for name, chosen in (("on", on), ("off", off), ("all", everything))}
    level = {name: float(shares @ mean) for name, shares in weight.items()}
    power_w = level["on"] - level["off"]
    duty = (level["all"] - level["off"]) / power_w
    slope_power = weight["on"] - weight["off"]
    slope_duty = (weight["all"] - weight["off"] - duty * slope_power) / power_w

    def error(slope: Array) -> float:
        return float(noise_w * np.sqrt(np.sum(slope**2 / count)))

    return {"power_w": power_w, "power_error_w": error(slope_power), "duty": duty, "duty_error": error(slope_duty)}
