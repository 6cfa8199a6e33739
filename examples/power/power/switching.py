"""Things that are on or off: how often they switch, and runs that are longer than chance allows."""

from __future__ import annotations

import numpy as np

from power.histogram import BINS, Scale
from power.period import Array

LEVELS = 64


def crossings(values: Array, scale: Scale) -> Array:
    """Minutes above each of a ladder of levels, and falls through it by the next minute.

    Counted before anybody knows which level divides on from off: that needs the whole period's histogram.
    """
    ladder = scale.low + scale.width * BINS / LEVELS * np.arange(LEVELS)
    pair = np.isfinite(values[:-1]) & np.isfinite(values[1:])
    now, then = values[1:][pair], values[:-1][pair]
    return np.array([[np.sum(then > level), np.sum((then > level) & (now <= level))] for level in ladder]).T


def off_chance(merged: Array, scale: Scale, threshold: float) -> tuple[float, int]:
    """The chance to switch off in a minute, and how often that happened, from the ladder's nearest level."""
    nearest = round((threshold - scale.low) / (scale.width * BINS / LEVELS))
    above, falls = merged[:, nearest]
    return float(falls / above), int(falls)


def longest_by_chance(chance: float, runs: int, alarms: float) -> int:
    """The length that any of ``runs`` runs exceeds with probability ``alarms``: a run ends by chance each minute."""
    return int(np.ceil(np.log(runs / alarms) / -np.log1p(-chance)))


def long_runs(on: Array, longest: int) -> list[tuple[int, int]]:
    """Start and length of runs that are longer."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int))).reshape(-1, 2)
    return [(int(start), int(end - start)) for start, end in edges if end - start > longest]


def transitions(values: Array, minute: Array, threshold: float) -> Array:
    """Pairs of minutes by the hour of the second, the state in the first (off, on) and in the second.

    Pairs in which a reading is missing do not count, which leaves the others as informative as they were.
    """
    pair = np.isfinite(values[:-1]) & np.isfinite(values[1:])
    on = (values > threshold).astype(int)
    hour = minute[1:] // 60 % 24
    key = (4 * hour + 2 * on[:-1] + on[1:])[pair]
    return np.bincount(key, minlength=96).reshape(24, 2, 2)


def levels(values: Array, threshold: float) -> Array:
    """Number and sum of readings when off and when on."""
    there = values[np.isfinite(values)]
    return np.array([[side.sum(), there[side].sum()] for side in (there <= threshold, there > threshold)])
