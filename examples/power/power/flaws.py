"""What is wrong with the recording itself, as with every real one: gaps, impossible values, lines out of place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from power.period import CHUNKS, Array, Period
from power.truth import SEED

GAPS_PER_DAY = 0.8
GAP_MEAN_MIN = 6
OUTAGES_MIN = (2_600, 900)  # the two long ones
IMPOSSIBLE_PER_CHUNK = 4
REPEATED_PER_CHUNK = 5
SWAPPED_PER_CHUNK = 6


@dataclass(frozen=True)
class Flaws:
    """Minutes by what is wrong with them; only the meter and the check may use this."""

    missing: Array  # a mask over the period
    impossible: Array  # minutes whose voltage makes no sense
    repeated: Array  # minutes whose line comes twice
    swapped: Array  # minutes whose line comes after the next one


def plan(period: Period) -> Flaws:
    """The same at every call."""
    rng = np.random.default_rng([SEED, 1])
    missing = np.zeros(period.minutes, bool)
    for start in rng.integers(0, period.minutes, round(GAPS_PER_DAY * period.days)):
        missing[start : start + rng.geometric(1 / GAP_MEAN_MIN)] = True
    for share, length in zip((0.31, 0.63), OUTAGES_MIN, strict=True):
        start = int(share * period.minutes)
        missing[start : start + min(length, period.minutes // 100)] = True
    picked = []
    undisturbed = ~(missing | np.roll(missing, 1) | np.roll(missing, -1))
    for name in CHUNKS:
        chunk = period.chunk(name)
        # Of every fourth minute, so that no two flaws touch the same or the next line.
        candidates = np.arange(chunk.start + 1, chunk.stop - 1, 4)
        there = candidates[undisturbed[candidates]]
        picked.append(rng.permutation(there)[: IMPOSSIBLE_PER_CHUNK + REPEATED_PER_CHUNK + SWAPPED_PER_CHUNK])
    lines = np.array(picked)
    ends = np.cumsum([IMPOSSIBLE_PER_CHUNK, REPEATED_PER_CHUNK])
    impossible, repeated, swapped = (np.sort(part.ravel()) for part in np.split(lines, ends, axis=1))
    return Flaws(missing, impossible, repeated, swapped)
