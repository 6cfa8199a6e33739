"""`SortedRecords`: sorted peaks, each with a number that belongs to it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SortedRecords:
    """Peaks in ascending order, equal ones in order of arrival. 16 bytes a record.

    `kind` is the type of the numbers that belong to them: whole (`q`) or floating-point (`d`).
    """

    def __init__(self, kind: Literal["q", "d"]) -> None:
        self.values = array("d")
        self.with_each: array[Any] = array(kind)

    def __len__(self) -> int:
        return len(self.values)

    def add(self, value: float, its: float) -> None:
        """Insert a peak and its number."""
        place = bisect_right(self.values, value)
        self.values.insert(place, value)
        self.with_each.insert(place, its)

    def replace(self, values: Iterable[float], with_each: Iterable[float]) -> None:
        """Replace all records by others, which are sorted."""
        self.values = array("d", values)
        self.with_each = self.with_each[:0]
        self.with_each.extend(with_each)

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return both as numpy arrays without a copy: drop them before the next `add`."""
        import numpy as np

        numbers = np.int64 if self.with_each.typecode == "q" else np.float64
        return np.frombuffer(self.values), np.frombuffer(self.with_each, numbers)
