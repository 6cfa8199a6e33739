"""`corrected-estimate`: the scheduler's own estimate, corrected by the errors of earlier estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.kernels.nearby_quantiles import nearby_quantiles
from headway.model.records import Figure
from headway.waiting.base import Shape, WaitModel, geometry, is_wait

RECORDS = 2000  # records that are kept of each kind of question
ALIKE = 64  # records that are kept of one geometry
SOFTEN_S = 60.0  # is added to both sides of a ratio, so that differences within a minute do not give large ratios
FAR = (0.5, 1.0, 1.0)  # the unit of distance in the logarithms of estimate, nodes and requested time

LATER, NOW, UNKNOWN = "later", "now", "unknown"


class CorrectedEstimate(WaitModel):
    """Learns the actual wait as a function of the wait by the scheduler's own plan.

    The scheduler plans with requested walltimes, which are too long, so its estimates are too long too, often several
    times. How much depends on the estimate, on the job's size and on the time. Each job that starts leaves a record:
    its position (estimate, nodes, requested time) and its ratio, (wait + 1 min) / (estimate + 1 min). A question is
    answered by the weighted quantiles of the ratios of the records near it, times the estimate. `predict` returns the
    median, which has the least mean absolute error. If the plan is exact, all ratios and quantiles are 1.

    Of each geometry the last 64 records are kept, of all geometries 2000. Users submit the same job a hundred times,
    and all of these wait for the same event; without the first bound they would crowd out all other records, and the
    quantiles would be too narrow. Estimates of 0 are learned apart; without an estimate the waits themselves are
    learned. The model is our own; docs/waits.md has its scores.

    >>> model, shape = CorrectedEstimate(), Shape(nodes=4, asked_s=3600, estimate_s=7140.0)
    >>> for _ in range(9):
    ...     model.observe(shape, {}, 3540.0)
    >>> model.predict(shape).wait_s
    3540.0
    >>> model.quantiles(shape, [0.5, 0.99])  # with nine records the plan itself may still be right
    [3540.0, 7140.0]
    """

    name = "corrected-estimate"

    def __init__(self) -> None:
        self._memories = _nothing()

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles of the ratios near the shape, times its estimate."""
        order = sorted(range(len(shares)), key=lambda place: shares[place])
        ratios = self._memories[kind_of(shape)].quantiles(shape, [shares[place] for place in order])
        answers = [0.0] * len(shares)
        for place, ratio in zip(order, ratios, strict=True):
            answers[place] = max(0.0, ratio * _softened(shape) - SOFTEN_S)
        return answers

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Add a record."""
        if is_wait(waited_s):
            self._memories[kind_of(shape)].add(shape, waited_s, censored=censored)

    def state(self) -> dict[str, Any]:
        """The records, oldest first."""
        records = [record for memory in self._memories.values() for record in memory.records()]
        return {"version": 1, "records": records}

    def restore(self, state: dict[str, Any]) -> None:
        """Add the saved records in their original sequence."""
        self._memories = _nothing()
        for nodes, asked_s, estimate_s, waited_s, censored in state["records"]:
            self.observe(Shape(int(nodes), asked_s, estimate_s), {}, waited_s, censored=bool(censored))


class _Memory:
    """Records of one kind of question, sorted by ratio."""

    def __init__(self) -> None:
        self._ratios = np.empty(RECORDS + 1)
        self._known = np.empty(RECORDS + 1)
        self._places = np.empty((len(FAR), RECORDS + 1))
        self._ages = np.empty(RECORDS + 1, np.int64)  # serial numbers of the records
        self._kinds = np.empty(RECORDS + 1, np.int64)
        self._weights = np.empty(RECORDS)
        self._geometries: dict[str, int] = {}  # serial number of each geometry
        self._alike: list[int] = []  # number of records of each geometry
        self._raw: dict[int, list[float | None]] = {}  # arguments of `add`, by serial number
        self._count = 0
        self._came = 0

    def add(self, shape: Shape, waited_s: float, *, censored: bool) -> None:
        kind = self._geometries.setdefault(geometry(shape), len(self._geometries))
        if kind == len(self._alike):
            self._alike.append(0)
        count = self._count
        if self._alike[kind] >= ALIKE:
            self._forget(int(np.argmin(np.where(self._kinds[:count] == kind, self._ages[:count], self._came))))
        elif count >= RECORDS:
            self._forget(int(np.argmin(self._ages[:count])))
        ratio = (waited_s + SOFTEN_S) / _softened(shape)
        count = self._count
        place = int(np.searchsorted(self._ratios[:count], ratio))
        for row in self._rows():
            row[..., place + 1 : count + 1] = row[..., place:count]
        self._ratios[place], self._known[place] = ratio, 0.0 if censored else 1.0
        self._places[:, place] = _place(shape)
        self._ages[place], self._kinds[place] = self._came, kind
        self._raw[self._came] = [shape.nodes, shape.asked_s, shape.estimate_s, waited_s, float(censored)]
        self._alike[kind] += 1
        self._came += 1
        self._count += 1

    def _forget(self, place: int) -> None:
        self._alike[self._kinds[place]] -= 1
        del self._raw[int(self._ages[place])]
        for row in self._rows():
            row[..., place : self._count - 1] = row[..., place + 1 : self._count]
        self._count -= 1

    def _rows(self) -> tuple[np.ndarray[Any, Any], ...]:
        return self._ratios, self._known, self._places, self._ages, self._kinds

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles of the ratio at `shares`, which must be sorted."""
        count = self._count
        found = np.empty(len(shares))
        nearby_quantiles(
            self._ratios[:count],
            self._known[:count],
            self._places[:, :count],
            _place(shape),
            np.array(shares, np.float64),
            1.0,
            self._weights,
            found,
        )
        ratios: list[float] = found.tolist()
        return ratios

    def records(self) -> list[list[float | None]]:
        """The arguments of `add`, oldest first."""
        return list(self._raw.values())


def _nothing() -> dict[str, _Memory]:
    return {kind: _Memory() for kind in (LATER, NOW, UNKNOWN)}


def kind_of(shape: Shape) -> str:
    """Whether the scheduler plans to start such a job later, plans to start it now, or was not asked."""
    if shape.estimate_s is None or not math.isfinite(shape.estimate_s):
        return UNKNOWN
    return LATER if shape.estimate_s > 0 else NOW


def _softened(shape: Shape) -> float:
    estimate_s = shape.estimate_s or 0.0
    return SOFTEN_S + (estimate_s if 0.0 < estimate_s < math.inf else 0.0)


def _place(shape: Shape) -> np.ndarray[Any, np.dtype[np.float64]]:
    each = (_softened(shape), max(shape.nodes, 1), max(shape.asked_s, 1.0))
    return np.array([math.log(value) / far for value, far in zip(each, FAR, strict=True)])
