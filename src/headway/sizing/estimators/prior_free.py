"""`PriorFree`: what the estimators have in common that know only the peaks of this run, not the user's hints."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from headway.model.records import Figure
from headway.sizing.estimators.base import MOST_RECORDS, Estimate, Estimator, Start, thinned

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Before this many records nothing is concluded from them (Phung and Thain 2024, section V-A).
ENOUGH_RECORDS = 10


class PriorFree(Estimator):
    """Estimates from ten records on, and until then explores with little or with the whole machine.

    Phung and Thain 2024, section V-A.
    """

    climbs = True
    step = 0.0


class SortedPeaks(PriorFree):
    """Keeps the peaks in ascending order, equal ones in order of arrival, each with a number.

    16 bytes a record, of at most `MOST_RECORDS`.
    """

    beside: ClassVar[str]  # what the number is, as the state names it
    kind: ClassVar[Literal["q", "d"]]  # the number's type: whole or floating-point
    learned = ("values",)

    def __init__(self) -> None:
        self._values = array("d")
        self._beside: array[Any] = array(self.kind)

    def insert(self, peak: float, number: float) -> None:
        """Insert a peak and its number."""
        place = bisect_right(self._values, peak)
        self._values.insert(place, peak)
        self._beside.insert(place, number)
        self._found = None
        if len(self._values) > MOST_RECORDS:
            self._values, self._beside = thinned(self._values), self.thinned_beside()

    def thinned_beside(self) -> array[Any]:
        """Return the numbers of the peaks that stay when every second is forgotten."""
        return thinned(self._beside)

    def arrays(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return both as numpy arrays without a copy: drop them before the next `insert`."""
        import numpy as np

        return np.frombuffer(self._values), np.frombuffer(self._beside, np.int64 if self.kind == "q" else np.float64)

    def state(self) -> dict[str, Any]:
        return super().state() | {self.beside: self._beside.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._beside = array(self.kind, state[self.beside])


def small_start(records: int) -> Estimate:
    """Explore with 1 core, 1 GB of memory and 1 GB of disk, as the bucketing algorithms do."""
    text = f"it learns from {ENOUGH_RECORDS} records on and has {records}: what everything starts with"
    return Estimate(Start.SMALL, "start", {"records": records}, text)


def whole_machine(records: int, *, failed: bool = False) -> Estimate:
    """Explore with the whole machine: dear, but it fails only if the machine is too small (section V-C)."""
    text = f"it learns from {ENOUGH_RECORDS} records on and has {records}: the whole machine"
    if failed:
        text = "it needs more than any before it: the whole machine"
    figures: dict[str, Figure] = {"records": records}
    return Estimate(Start.WHOLE_MACHINE, "whole-machine", figures, text)
