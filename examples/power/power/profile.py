"""The daily, weekly and yearly profile of what no sub-meter sees: a linear model, fitted by mergeable sums."""

from __future__ import annotations

import numpy as np

from power.period import DAY_MINUTES, Array, Period, is_weekend

NAMES = [
    *("base", "weekend"),
    *(f"{part} {k}/day" for k in (1, 2, 3, 4) for part in ("cos", "sin")),
    *(f"weekend {part} {k}/day" for k in (1, 2) for part in ("cos", "sin")),
    *("cos 1/year", "sin 1/year"),
]


def basis(minute: Array, period: Period) -> Array:
    """The functions that ``NAMES`` names, a row each, at given minutes of the period."""
    day = 2 * np.pi * minute / DAY_MINUTES
    weekend = is_weekend(minute).astype(float)
    waves = [wave(k * day) for k in (1, 2, 3, 4) for wave in (np.cos, np.sin)]
    year = day / period.season_days
    return np.stack(
        [np.ones(len(minute)), weekend, *waves, *(weekend * wave for wave in waves[:4]), np.cos(year), np.sin(year)]
    )


def sums(minute: Array, watts: Array, period: Period) -> dict[str, Array]:
    """Normal equations over the readings that are there. They add up over chunks; the solution does not."""
    there = np.isfinite(watts)
    functions, known = basis(minute[there], period), watts[there]
    return {"profile_xx": functions @ functions.T, "profile_xy": functions @ known}


def solve(merged: dict[str, Array]) -> Array:
    """The least-squares coefficients."""
    return np.linalg.solve(merged["profile_xx"], merged["profile_xy"])
