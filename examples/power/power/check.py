"""The check: are these the numbers that the household was made of, and are all its faults found, and no others?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from power import profile, pump, response
from power.clean import LONGEST_FILLED_MIN, Counts
from power.combine import CURRENT, LOADS
from power.describe import Summary
from power.explain import Finding
from power.flaws import Flaws
from power.period import CHUNKS, DAY_MINUTES, Period
from power.readings import Readings
from power.report import MEALS, switch_counts
from power.scan import MARGIN_MIN
from power.truth import Fault, Truth

FALSE_REJECTIONS = 1e-3
"""The probability with which a right result would be called wrong, over all numbers together."""


@dataclass(frozen=True)
class Comparison:
    """A number that was found, the true one, and the standard error that the sample size allows."""

    name: str
    found: float
    true: float
    error: float

    @property
    def score(self) -> float:
        return (self.found - self.true) / self.error


def allowed_score(comparisons: int) -> float:
    """Errors are normal, by the central limit theorem; a Bonferroni bound over all of them."""
    return -NormalDist().inv_cdf(FALSE_REJECTIONS / comparisons / 2)


def truth_and_errors(truth: Truth, whole: Summary, period: Period) -> dict[str, tuple[float, float]]:
    """For each number of report.py: the true value, and the standard error of the best estimate of it.

    No error is taken from the residuals: each follows from the true noise and from which minutes were read. So a
    stage that makes the results worse cannot widen its own bounds.
    """
    known: dict[str, tuple[float, float]] = {}
    count = whole.moments.count
    # Least squares: noise times the roots of the inverse normal matrix's diagonal. The timer's mean is in the base.
    errors = truth.unmetered_noise_w * np.sqrt(np.diag(np.linalg.inv(whole.sums["profile_xx"])))
    for name, value, error in zip(profile.NAMES, truth.profile_w, errors, strict=True):
        timer_mean = truth.pump.power_w * truth.pump.duty if name == "base" else 0.0
        known[f"profile, {name} (W)"] = value + timer_mean, error

    heat = truth.heat_pump
    line = response.Response(heat.standby_w, heat.slope_w_per_k, heat.balance_c)
    line_errors = response.errors(whole.sums["response"], line, heat.noise_w)
    known["heat pump, standby (W)"] = line.standby_w, line_errors.standby_w
    known["heat pump, slope (W/K)"] = line.slope_w_per_k, line_errors.slope_w_per_k
    known["heat pump, balance point (C)"] = line.balance_c, line_errors.balance_c
    # The standard deviation of n normal numbers is known to one part in the root of 2 n.
    known["heat pump, noise (W)"] = heat.noise_w, heat.noise_w / np.sqrt(2 * count)

    supply = truth.supply
    open_error, (drop_error,) = whole.moments.regression_errors([CURRENT], supply.noise_v)
    known["supply, open voltage (V)"] = supply.open_v, open_error
    known["supply, resistance (ohm)"] = supply.resistance_ohm, drop_error
    known["supply, noise (V)"] = supply.noise_v, supply.noise_v / np.sqrt(2 * count)
    _, share_errors = whole.moments.regression_errors(LOADS, supply.reactive_noise_w)
    channels = ("unmetered", "kitchen", "utility", "climate")
    for name, share, error in zip(channels, supply.reactive_shares, share_errors, strict=True):
        known[f"reactive share, {name}"] = share, error
    known["reactive, noise (W)"] = supply.reactive_noise_w, supply.reactive_noise_w / np.sqrt(2 * count)

    known |= timer(truth, whole, period)
    known |= switches(truth, whole)
    return known


def timer(truth: Truth, whole: Summary, period: Period) -> dict[str, tuple[float, float]]:
    """The frequency's bound is that of Cramer and Rao for a sinusoid in white noise, as in M. Montgomery,
    D. O'Donoghue, "A derivation of the errors for least squares fitting to time series data" (1999), with the
    square wave's fundamental as the sinusoid."""
    wave, noise_w = truth.pump, truth.unmetered_noise_w
    amplitude_w = 2 * wave.power_w / np.pi * np.sin(np.pi * wave.duty)
    frequency_error = np.sqrt(6 / whole.moments.count) * noise_w / (np.pi * period.days * amplitude_w)
    shape = pump.square_wave(whole.sums["fold_count"], whole.sums["fold_sum"], noise_w)
    return {
        # A line through twelve phases is 1 - 1 / 144 as good as the bound.
        "timer, cycles a day": (DAY_MINUTES / wave.period_min, frequency_error / np.sqrt(1 - len(CHUNKS) ** -2)),
        "timer, power (W)": (wave.power_w, shape["power_error_w"]),
        "timer, duty": (wave.duty, shape["duty_error"]),
    }


def switches(truth: Truth, whole: Summary) -> dict[str, tuple[float, float]]:
    """Chances of a switch are binomial: every minute in which it could have happened is a trial."""
    known = {}

    def binomial(channel: str, hours: range, state: int, chance: float) -> tuple[float, float]:
        _, trials = switch_counts(whole.sums[f"transitions_{channel}"], hours, state)
        return chance, np.sqrt(chance * (1 - chance) / trials)

    for channel, thing in (("kitchen", truth.oven), ("utility", truth.fridge)):
        (off_n, _), (on_n, _) = whole.sums[f"levels_{channel}"]
        known[f"{channel}, standby (W)"] = thing.standby_w, thing.noise_w / np.sqrt(off_n)
        known[f"{channel}, power (W)"] = thing.power_w, thing.noise_w * np.sqrt(1 / off_n + 1 / on_n)
        known[f"{channel}, off a minute"] = binomial(channel, range(24), 1, thing.off_per_minute)
    known["utility, on a minute"] = binomial("utility", range(24), 0, truth.fridge.on_per_minute)
    for first, end, chance in truth.oven.meals:
        name = f"kitchen, on a minute from {first} to {end} h"
        known[name] = binomial("kitchen", range(first, end), 0, chance)
    return known


def compare(found: dict[str, float], truth: Truth, whole: Summary, period: Period) -> list[Comparison]:
    """Every number that was found; one that is missing or unknown is a mistake of ours."""
    known = truth_and_errors(truth, whole, period)
    if found.keys() != known.keys():
        raise ValueError(f"compared are other numbers than found: {found.keys() ^ known.keys()}")
    return [Comparison(name, found[name], *known[name]) for name in found]


def complaints(comparisons: list[Comparison], whole: Summary) -> list[str]:
    """The numbers that are off by more than chance allows, and ovens that start outside of meal times."""
    allowed = allowed_score(len(comparisons))
    # Not "greater than": a number that is not a number is wrong too.
    wrong = [
        f"{c.name} is {c.found:.6g} instead of {c.true:.6g}, {c.score:+.1f} standard errors off"
        for c in comparisons
        if not abs(c.score) <= allowed
    ]
    other_hours = [hour for hour in range(24) if not any(first <= hour < end for first, end in MEALS)]
    starts, _ = switch_counts(whole.sums["transitions_kitchen"], other_hours, 0)
    return wrong + ([f"the oven was started {starts} times outside of meals"] if starts else [])


def fault_complaints(findings: list[Finding], planted: list[Fault]) -> list[str]:
    """Faults that were not found, and findings that are none."""

    def same(fault: Fault, finding: Finding) -> bool:
        return fault.channel == finding.channel and fault.overlaps(finding.start, finding.minutes)

    missed = [f for f in planted if not any(same(f, finding) for finding in findings)]
    false = [f for f in findings if not any(same(fault, f) for fault in planted)]
    return [f"not found: {fault}" for fault in missed] + [f"a false alarm: {finding}" for finding in false]


def coverage_complaints(whole: Summary, readings: Readings, findings: list[Finding], period: Period) -> list[str]:
    """Every reading of every day must have been used, and once, but for days on which something was wrong."""
    there = np.isfinite(readings["active"]).reshape(period.days, DAY_MINUTES).sum(axis=1)
    used = whole.sums["readings_by_day"]
    sound = np.ones(period.days, bool)
    for finding in findings:
        first, last = finding.start - MARGIN_MIN, finding.start + finding.minutes + MARGIN_MIN
        sound[max(0, first // DAY_MINUTES) : last // DAY_MINUTES + 1] = False
    wrong = np.where(sound, used != there, used > there)
    return [f"on {wrong.sum()} days other readings were used than there are"] if wrong.any() else []


def cleaning_complaints(counts: Counts, flaws: Flaws, period: Period) -> list[str]:
    """What cleaning has counted must be exactly what was wrong with the log."""
    gap = flaws.missing.copy()
    gap[flaws.impossible] = True
    filled = 0
    for name in CHUNKS:
        chunk = period.chunk(name)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], gap[chunk.start : chunk.stop], [0]]))).reshape(-1, 2)
        inside = (edges[:, 0] > 0) & (edges[:, 1] < len(chunk))
        lengths = np.diff(edges, axis=1)[:, 0]
        filled += int(lengths[inside & (lengths <= LONGEST_FILLED_MIN)].sum())
    repeated, swapped = len(flaws.repeated), len(flaws.swapped)
    lines = period.minutes + repeated
    expected = Counts(lines, repeated, swapped, len(flaws.impossible), int(gap.sum()), filled)
    return [] if counts == expected else [f"cleaning has counted {counts} instead of {expected}"]


def as_table(comparisons: list[Comparison]) -> list[dict[str, Any]]:
    return [
        {"name": c.name, "found": c.found, "true": c.true, "standard_error": c.error, "score": c.score}
        for c in comparisons
    ]
