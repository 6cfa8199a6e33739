"""The last sequential stage: the household's numbers, found again without the minutes in which something was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from power import profile, pump, response, spectrum
from power.combine import CURRENT, LOADS, REACTIVE, VOLTAGE, merge
from power.describe import Summary
from power.explain import SWITCHED, Finding
from power.moments import Moments
from power.period import CHUNKS, DAY_MINUTES, Array, Period
from power.truth import Oven

MEALS = [(first, end) for first, end, _ in Oven().meals]  # the hours are the question, the chances the answer


def refined_frequency(parts: list[Summary], model: dict[str, Any], period: Period) -> float:
    """The pump's frequency from the phases that the chunks see after everything else is taken off."""
    each, middles_day = [], []
    for name, part in zip(CHUNKS, parts, strict=True):
        fold_mean = part.sums["fold_sum"].sum() / part.sums["fold_count"].sum()
        each.append(spectrum.about_the_mean(part.sums["fourier"][:, 0], fold_mean))
        middles_day.append((period.chunk(name)[0] + len(period.chunk(name)) / 2) / DAY_MINUTES)
    weights = np.array([part.moments.count for part in parts])
    return spectrum.refine(model["pump_cycles_per_day"], np.array(middles_day), np.array(each), weights)


def switch_counts(transitions: Array, hours: Sequence[int], state: int) -> tuple[int, int]:
    """How often it switched out of a state in some hours of the day, and in how many minutes it could have."""
    chosen = transitions[list(hours), state]
    return int(chosen[:, 1 - state].sum()), int(chosen.sum())


def unexplained(moments: Moments, wanted: int, on: list[int]) -> float:
    """The standard deviation of what a regression leaves."""
    _, slopes = moments.regress(wanted, on)
    square = moments.products[wanted, wanted] - slopes @ moments.products[on, wanted]
    return float(np.sqrt(square / (moments.count - 1 - len(on))))


def parameters(parts: list[Summary], model: dict[str, Any], period: Period) -> dict[str, float]:
    """All numbers by name, as check.py compares them with the truth."""
    whole = merge(parts)
    found = {f"profile, {name} (W)": float(w) for name, w in zip(profile.NAMES, profile.solve(whole.sums), strict=True)}
    climate = response.fit(whole.sums["response"])
    found["heat pump, standby (W)"] = climate.standby_w
    found["heat pump, slope (W/K)"] = climate.slope_w_per_k
    found["heat pump, balance point (C)"] = climate.balance_c
    found["heat pump, noise (W)"] = response.noise_w(whole.sums["response"], climate)

    open_v, (drop,) = whole.moments.regress(VOLTAGE, [CURRENT])
    found["supply, open voltage (V)"], found["supply, resistance (ohm)"] = open_v, -float(drop)
    found["supply, noise (V)"] = unexplained(whole.moments, VOLTAGE, [CURRENT])
    _, shares = whole.moments.regress(REACTIVE, LOADS)
    for name, share in zip(("unmetered", "kitchen", "utility", "climate"), shares, strict=True):
        found[f"reactive share, {name}"] = float(share)
    found["reactive, noise (W)"] = unexplained(whole.moments, REACTIVE, LOADS)

    wave = pump.square_wave(whole.sums["fold_count"], whole.sums["fold_sum"], noise_w=1.0)
    found["timer, cycles a day"] = refined_frequency(parts, model, period)
    found["timer, power (W)"], found["timer, duty"] = wave["power_w"], wave["duty"]

    for channel in SWITCHED:
        (off_n, off_sum), (on_n, on_sum) = whole.sums[f"levels_{channel}"]
        found[f"{channel}, standby (W)"] = off_sum / off_n
        found[f"{channel}, power (W)"] = on_sum / on_n - off_sum / off_n
        offs, could = switch_counts(whole.sums[f"transitions_{channel}"], range(24), 1)
        found[f"{channel}, off a minute"] = offs / could
    ons, could = switch_counts(whole.sums["transitions_utility"], range(24), 0)
    found["utility, on a minute"] = ons / could
    for first, end in MEALS:
        ons, could = switch_counts(whole.sums["transitions_kitchen"], range(first, end), 0)
        found[f"kitchen, on a minute from {first} to {end} h"] = ons / could
    return found


def join(findings: list[Finding]) -> list[Finding]:
    """One finding for what overlaps in a channel, the strongest; in the order of time."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda each: -each.score):
        end = finding.start + finding.minutes
        if not any(
            k.channel == finding.channel and k.start < end and finding.start < k.start + k.minutes for k in kept
        ):
            kept.append(finding)
    return sorted(kept, key=lambda each: each.start)
