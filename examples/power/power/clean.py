"""Cleaning: from a meter's log to one reading a minute, short gaps bridged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from power.meter import PER_UNIT
from power.period import START, Array
from power.readings import QUANTITIES, Readings

LONGEST_FILLED_MIN = 60
# A reading outside of these cannot be true: what a 240 V connection can be and carry.
LIMITS = {"voltage": (200.0, 270.0), "current": (0.0, 120.0), "active": (0.0, 30_000.0)}


@dataclass
class Counts:
    """What cleaning came across."""

    lines: int = 0
    repeated: int = 0
    out_of_order: int = 0
    impossible: int = 0
    missing: int = 0
    filled: int = 0


def minute_of(lines: list[bytes]) -> Array:
    """Minutes since the start, from the first 16 characters of each line: ``dd/mm/yyyy;hh:mm``."""
    digits = np.array(lines, "S16").view(np.uint8).reshape(-1, 16).astype(int) - ord("0")
    day, month, hour, minute = (10 * digits[:, at] + digits[:, at + 1] for at in (0, 3, 11, 14))
    year = digits[:, 6:10] @ [1000, 100, 10, 1]
    date = (12 * (year - 1970) + month - 1).astype("datetime64[M]").astype("datetime64[D]") + (day - 1)
    return (date - START).astype("timedelta64[m]").astype(int) + 60 * hour + minute


def parse(log: bytes) -> tuple[Array, Array]:
    """The minute and the quantities of each line, as they come."""
    lines = log.split(b"\n")[1:-1]
    numbers = log.replace(b";?;?;?;?;?;?;\n", b";nan;nan;nan;nan;nan;nan;nan\n").decode("ascii").split("\n")[1:-1]
    values = np.loadtxt(numbers, delimiter=";", usecols=range(2, 2 + len(QUANTITIES)))
    return minute_of(lines), values.T * PER_UNIT[:, None]


def fill(values: Array) -> tuple[Array, int]:
    """Bridge every gap of at most an hour by a straight line; say how many minutes that were."""
    gap = np.isnan(values[0])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], gap, [False]])))
    bridged = np.zeros(len(gap), bool)
    for start, end in edges.reshape(-1, 2):
        if end - start <= LONGEST_FILLED_MIN and start > 0 and end < len(gap):
            bridged[start:end] = True
    filled, at = values.copy(), np.arange(len(gap))
    for row in filled:
        row[bridged] = np.interp(at[bridged], at[~gap], row[~gap])
    return filled, int(bridged.sum())


def clean(log: bytes, chunk: range, counts: Counts) -> Readings:
    """One reading for each minute of the chunk, in order, the first where a line comes twice."""
    minute, values = parse(log)
    counts.lines += len(minute)
    counts.out_of_order += int(np.sum(np.diff(minute) < 0))
    known, first = np.unique(minute, return_index=True)
    counts.repeated += len(minute) - len(known)
    if known[0] < chunk.start or known[-1] >= chunk.stop:
        raise ValueError(f"the log of minutes {chunk} holds others: {known[0]} to {known[-1]}")
    ordered = np.full((len(QUANTITIES), len(chunk)), np.nan)
    ordered[:, known - chunk.start] = values[:, first]
    for quantity, (low, high) in LIMITS.items():
        row = ordered[QUANTITIES.index(quantity)]
        impossible = (row < low) | (row > high)
        counts.impossible += int(impossible.sum())
        ordered[:, impossible] = np.nan
    counts.missing += int(np.isnan(ordered[0]).sum())
    filled, bridged = fill(ordered)
    counts.filled += bridged
    return Readings(chunk.start, ordered, filled)
