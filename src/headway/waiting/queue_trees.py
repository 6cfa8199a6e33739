"""`queue-trees`: the waits of jobs like this one in a queue like this one, by boosted trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.kernels.nearby_quantiles import nearby_quantiles
from headway.model.records import Figure
from headway.waiting.base import Shape, WaitModel, is_wait
from headway.waiting.boosting import Boosted

RECORDS = 20_000  # waits that are kept
ALIKE = 8  # waits that are kept of one request in one hour of the week
TELLING = ("cores", "gpus", "memory", "hour", "weekday")  # jobs that differ only in other numbers are alike
FEWEST = 20  # waits before the first trees; then they are grown anew whenever a tenth is new
HELD_OUT = 0.2  # the share of the records, the newest, that says how far the trees are off
_UNKNOWN = -1.0

Floats = NDArray[np.float64]


class Record(Struct, frozen=True, array_like=True):
    """A job and its wait."""

    shape: Shape
    waited_s: float


class QueueTrees(WaitModel):
    """Learns the wait as a function of all that is known of a job and of the queue when it is submitted.

    Boosted trees (`Boosted`) predict the logarithm of the wait from nodes, requested time, the plan's estimate and
    every number of `Shape.seen`: that is the median. How far such trees are off is measured on the newest fifth of the
    records, with trees grown from the others. The other quantiles are those of these errors, about their median,
    weighted by how near their predictions are to this one (split conformal prediction: Papadopoulos et al. 2002).

    Of each request (nodes, time, cores, memory, GPUs, and words such as the account) only the last 8 waits of an hour
    of the week are kept: the thousand jobs of an array wait for the same event, and trees that see all of them learn
    little else.

    >>> model = QueueTrees()
    >>> for number in range(200):
    ...     shape = Shape(1 + number, 3600.0, seen={"jobs waiting": float(number % 2)})
    ...     model.observe(shape, {}, 600.0 if number % 2 else 30.0)
    >>> few, many = (model.predict(Shape(8, 3600.0, seen={"jobs waiting": waiting})).wait_s for waiting in (0.0, 1.0))
    >>> few < 60.0, many > 500.0
    (True, True)
    """

    name = "queue-trees"

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}  # by serial number, oldest first
        self._alike: dict[object, list[int]] = {}  # serial numbers of each request, oldest first
        self._came = 0
        self._new = 0  # waits since the trees were grown
        self._learned: list[Record] = []  # what the trees are grown from
        self._fitted: _Fitted | None = None  # when it is asked

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles by the errors of the trees; 0 before there are trees."""
        if not self._learned:
            return [0.0] * len(shares)
        if self._fitted is None:
            self._fitted = _Fitted(self._learned)
        return self._fitted.quantiles(shape, shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Add a wait that is known to its end."""
        if censored or not is_wait(waited_s):
            return
        self._add(Record(shape, waited_s))
        self._new += 1
        if self._new >= max(FEWEST, len(self._records) // 10):
            self._learned, self._new = list(self._records.values()), 0
            self._fitted = None

    def _add(self, record: Record) -> None:
        alike = self._alike.setdefault(_request(record.shape), [])
        if len(alike) >= ALIKE:
            del self._records[alike.pop(0)]
        elif len(self._records) >= RECORDS:
            oldest = next(iter(self._records))
            self._alike[_request(self._records.pop(oldest).shape)].remove(oldest)
        self._records[self._came] = record
        alike.append(self._came)
        self._came += 1

    def state(self) -> dict[str, Any]:
        """The records, and those that the trees are grown from."""
        records, learned = (msgspec.to_builtins(list(each)) for each in (self._records.values(), self._learned))
        return {"version": 1, "records": records, "learned": learned, "new": self._new}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.__init__()  # type: ignore[misc]
        for record in msgspec.convert(state["records"], list[Record]):
            self._add(record)
        self._learned, self._new = msgspec.convert(state["learned"], list[Record]), state["new"]


class _Fitted:
    """Trees grown from records, and how far such trees are off."""

    def __init__(self, records: Sequence[Record]) -> None:
        names = {name for record in records for name, value in record.shape.seen.items() if not isinstance(value, str)}
        self._names = sorted(names)
        table = np.array([self._values(record.shape) for record in records])
        logs = np.log1p([record.waited_s for record in records])
        self._trees = Boosted(table, logs)
        older = int((1.0 - HELD_OUT) * len(records))
        foreseen = Boosted(table[:older], logs[:older]).values(table[older:])
        errors = logs[older:] - foreseen
        order = np.argsort(errors, kind="stable")
        self._errors, self._foreseen = errors[order], np.ascontiguousarray(foreseen[order][None, :])

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        foreseen = self._trees.values(np.array([self._values(shape)]))
        asked = np.sort([0.5, *shares])
        errors, count = np.empty(asked.size), self._errors.size
        everything = self._errors, np.ones(count), self._foreseen, foreseen, asked, -math.inf, np.empty(count), errors
        nearby_quantiles(*everything)
        # The newest records are of jobs that had to wait for longer, so that their errors tell the spread only.
        errors -= errors[np.searchsorted(asked, 0.5)]
        found: list[float] = np.maximum(0.0, np.expm1(foreseen + errors))[np.searchsorted(asked, shares)].tolist()
        return found

    def _values(self, shape: Shape) -> list[float]:
        each = (shape.nodes, shape.asked_s, shape.estimate_s, *(shape.seen.get(name) for name in self._names))
        numbers = (_UNKNOWN if value is None or isinstance(value, str) else float(value) for value in each)
        return [value if math.isfinite(value) else _UNKNOWN for value in numbers]


def _request(shape: Shape) -> object:
    """What makes two requests alike."""
    told = (pair for pair in shape.seen.items() if pair[0] in TELLING or isinstance(pair[1], str))
    return shape.nodes, shape.asked_s, tuple(sorted(told))
