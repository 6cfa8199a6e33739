"""The second parallel stage: a chunk against the model of the whole period: what is left, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from power import profile, pump, scan, spectrum, switching, weather
from power.describe import Summary, core_sums
from power.period import Array, Period
from power.readings import QUANTITIES, Readings
from power.response import Response

FALSE_ALARMS = 0.01  # to be expected in a whole period at most, over all five channels
SCANNED = ("unmetered", "climate", "voltage")
SWITCHED = ("kitchen", "utility")
ALARMS_A_CHANNEL = FALSE_ALARMS / (len(SCANNED) + len(SWITCHED))

Scanned = tuple[Array, Callable[[Array], Array]]  # a series, and what takes off all of it that is not noise


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, and by how much: standard errors, or minutes for something that stays on."""

    channel: str
    start: int
    minutes: int
    score: float


def without_fit(series: Array, functions: Array) -> Array:
    """A series without the best combination of some functions (rows), of which a chunk may not tell all apart."""
    there = np.isfinite(series)
    known = functions[:, there]
    found = np.linalg.pinv(known @ known.T, rcond=1e-9, hermitian=True) @ (known @ series[there])
    return series - found @ functions


def scanned(readings: Readings, period: Period, hourly_c: Array, model: dict[str, Any]) -> dict[str, Scanned]:
    """What the model of the whole period leaves of each channel, and how to tidy that up.

    The model was fitted to everything, the faults included, so a little of them is in all that it says. Each chunk
    therefore takes off its own correction of it, linear in the same functions.
    """
    minute, outdoor_c = readings.minute, weather.at(readings.minute, hourly_c)
    daily, frequency = profile.basis(minute, period), model["pump_cycles_per_day"]
    climate = Response(*model["response"])
    open_v, resistance_ohm = model["supply"]
    current = np.nan_to_num(readings["current"])

    def without_timer(series: Array) -> Array:
        timer = pump.fold(minute, series, frequency)
        cycle = timer["fold_sum"] / np.maximum(timer["fold_count"], 1)
        return series - cycle[pump.bins(minute, frequency)]

    return {
        "unmetered": (
            readings.unmetered - np.array(model["profile_w"]) @ daily,
            lambda series: without_timer(without_fit(series, daily)),
        ),
        "climate": (
            readings["climate"] - climate.at(outdoor_c),
            lambda series: without_fit(series, climate.slopes(outdoor_c)),
        ),
        "voltage": (
            readings["voltage"] - (open_v - resistance_ohm * current),
            lambda series: without_fit(series, np.stack([np.ones(len(minute)), current])),
        ),
    }


def search(
    readings: Readings, channels: dict[str, Scanned], period: Period, model: dict[str, Any], cores: int
) -> list[Finding]:
    """All that is wrong in a chunk and its neighbouring days."""
    least = scan.least_score(period.minutes, ALARMS_A_CHANNEL)
    found = []
    for channel, (series, tidy) in channels.items():
        for window in scan.windows(series, tidy, least, cores):
            found.append(Finding(channel, readings.start + window.start, window.minutes, window.score))
    for channel in SWITCHED:
        chance, runs = model["off_chances"][channel]
        longest = switching.longest_by_chance(chance, runs, ALARMS_A_CHANNEL)
        on = readings.filled[QUANTITIES.index(channel)] > model["thresholds_w"][channel]
        for start, minutes in switching.long_runs(on, longest):
            found.append(Finding(channel, readings.start + start, minutes, float(minutes)))
    return found


def explain(
    chunk: range, readings: Readings, period: Period, hourly_c: Array, model: dict[str, Any], cores: int = 1
) -> tuple[Summary, list[Finding]]:
    """The chunk's sums without what is wrong, and what that is. ``readings`` include the neighbouring days."""
    channels = scanned(readings, period, hourly_c, model)
    found = search(readings, channels, period, model, cores)
    wrong = np.zeros(len(readings.minute), bool)
    for finding in found:
        first = max(0, finding.start - readings.start - scan.MARGIN_MIN)
        wrong[first : finding.start - readings.start + finding.minutes + scan.MARGIN_MIN] = True

    sound = readings.without(wrong)
    own = sound.cut(chunk)
    base = core_sums(own, period, hourly_c)
    unmetered = own.unmetered - np.array(model["profile_w"]) @ profile.basis(own.minute, period)
    frequency = model["pump_cycles_per_day"]
    sums = pump.fold(own.minute, unmetered, frequency)
    sums["fourier"] = spectrum.sums(chunk.start, unmetered, np.array([frequency]))
    # A pair of minutes belongs to the chunk of the second: the first may be the neighbour's last.
    reaching_back = sound.cut(range(max(readings.start, chunk.start - 1), chunk.stop))
    for channel in SWITCHED:
        threshold = model["thresholds_w"][channel]
        sums[f"transitions_{channel}"] = switching.transitions(reaching_back[channel], reaching_back.minute, threshold)
        sums[f"levels_{channel}"] = switching.levels(own[channel], threshold)
    mine = [finding for finding in found if finding.start + finding.minutes // 2 in chunk]
    return Summary(base.moments, base.sums | sums), mine
