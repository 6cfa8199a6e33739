"""Outdoor temperature: an hourly record, as a weather service gives it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from power.period import Array, Period

MEAN_C, SEASON_C, DAY_C, CHANGE_C = 9.5, 9.0, 3.5, 2.8
PERSISTENCE = 0.985  # from hour to hour: fronts pass in days


def make(period: Period, rng: np.random.Generator) -> Array:
    """Degrees at every full hour of the period, both ends included."""
    hour = np.arange(24 * period.days + 1)
    change = np.empty(len(hour))
    change[0] = rng.normal(0, CHANGE_C)
    steps = rng.normal(0, CHANGE_C * np.sqrt(1 - PERSISTENCE**2), len(hour))
    for h in hour[1:]:
        change[h] = PERSISTENCE * change[h - 1] + steps[h]
    seasons = -SEASON_C * np.cos(2 * np.pi * (hour / 24 / period.season_days - 0.05))
    days = -DAY_C * np.cos(2 * np.pi * (hour / 24 - 0.12))
    return np.round(MEAN_C + seasons + days + change, 1)


def save(path: Path, hourly_c: Array) -> None:
    path.write_text("hour;temperature_c\n" + "".join(f"{h};{c:.1f}\n" for h, c in enumerate(hourly_c)))


def load(path: Path) -> Array:
    return np.loadtxt(path, delimiter=";", skiprows=1, usecols=1)


def at(minute: Array, hourly_c: Array) -> Array:
    """Between full hours, on a straight line."""
    return np.interp(minute / 60, np.arange(len(hourly_c)), hourly_c)
