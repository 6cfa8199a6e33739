"""Readings: seven quantities a minute, NaN where a reading is missing, and the file that holds a chunk of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from power.period import Array

QUANTITIES = ["active", "reactive", "voltage", "current", "kitchen", "utility", "climate"]  # W, W, V, A, W, W, W
SUB_METERS = ["kitchen", "utility", "climate"]


@dataclass(frozen=True)
class Readings:
    """Minutes in a row, from ``start`` on.

    ``values`` has a row for each quantity and holds what was really read; in ``filled`` short gaps are bridged.
    Statistics rest on the first, the second is for what needs an unbroken record.
    """

    start: int
    values: Array
    filled: Array

    @property
    def minute(self) -> Array:
        return np.arange(self.start, self.start + self.values.shape[1])

    def __getitem__(self, quantity: str) -> Array:
        return self.values[QUANTITIES.index(quantity)]

    @property
    def unmetered(self) -> Array:
        """What is left when the three sub-meters are taken off."""
        return self["active"] - sum(self[name] for name in SUB_METERS)

    def cut(self, minutes: range) -> Readings:
        part = slice(minutes.start - self.start, minutes.stop - self.start)
        return Readings(minutes.start, self.values[:, part], self.filled[:, part])

    def without(self, minutes: Array) -> Readings:
        """The same with some minutes (a mask) counted as missing."""
        return Readings(self.start, np.where(minutes, np.nan, self.values), self.filled)

    def save(self, path: Path) -> None:
        np.savez(path, start=self.start, values=self.values, filled=self.filled)

    @classmethod
    def load(cls, path: Path) -> Readings:
        with np.load(path) as file:
            return cls(int(file["start"]), file["values"], file["filled"])

    @classmethod
    def load_all(cls, paths: list[Path]) -> Readings:
        """Chunks one after the other, as they follow each other in time."""
        parts = [cls.load(path) for path in paths]
        values, filled = (
            np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("values", "filled")
        )
        return cls(parts[0].start, values, filled)
