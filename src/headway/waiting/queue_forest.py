"""`queue-forest`: the waits of jobs like this one in a queue like this one, by a forest of random trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.random import Generator, Philox
from numpy.typing import NDArray

from headway.model.records import Figure
from headway.waiting.base import Shape, WaitModel, is_wait

RECORDS = 10_000  # waits that are kept
ALIKE = 4  # waits that are kept of one request
REQUESTED = ("cores", "gpus", "memory")  # what a job asks for; two jobs that differ only in other numbers are alike
FEWEST = 20  # waits before the first trees; then they are grown anew whenever a tenth is new
TREES = 30
TRIES = 12  # random splits of which a node takes the best
LEAST = 5  # records of a leaf
_UNKNOWN = -1.0

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Record(Struct, frozen=True, array_like=True):
    """A job and its wait."""

    shape: Shape
    waited_s: float


class Tree(Struct):
    """A node is a leaf if it has no column; otherwise a value up to `cuts` goes to `lower`, another to the next."""

    columns: list[int]
    cuts: list[float]
    lower: list[int]
    records: list[Whole]  # of each leaf

    def leaf(self, values: Sequence[float]) -> Whole:
        """The records of the leaf that the values lead to."""
        node = 0
        while self.columns[node] >= 0:
            node = self.lower[node] + (values[self.columns[node]] > self.cuts[node])
        return self.records[node]


class QueueForest(WaitModel):
    """Learns the wait as a function of all that is known of a job and of the queue when it is submitted.

    Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) split the records by nodes, requested time, the plan's
    estimate and every number of `Shape.seen`, so that the logarithms of the waits in a leaf are alike. The answer is
    the quantiles of the records in the leaves of all trees (Meinshausen 2006, "Quantile regression forests").

    What we do differently: a split is at the value of a random record, so that the unit of a number does not matter. Of
    each request (nodes, time, cores, memory, GPUs, and words such as the account) only the last 4 waits are kept: the
    thousand jobs of an array wait for the same event, and with all of them in one leaf a tree learns that event only.

    >>> model = QueueForest()
    >>> for number in range(60):
    ...     shape = Shape(1 + number, 3600.0, seen={"jobs waiting": float(number % 2)})
    ...     model.observe(shape, {}, 600.0 if number % 2 else 30.0)
    >>> [model.predict(Shape(8, 3600.0, seen={"jobs waiting": waiting})).wait_s for waiting in (0.0, 1.0)]
    [30.0, 600.0]
    """

    name = "queue-forest"

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}  # by serial number, oldest first
        self._alike: dict[object, list[int]] = {}  # serial numbers of each request, oldest first
        self._came = 0
        self._new = 0  # waits since the trees were grown
        self._learned: list[Record] = []  # what the trees are grown from
        self._forest: _Forest | None = None  # grown when it is asked

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles of the waits in the leaves; 0 before there are trees."""
        if self._forest is None:
            self._forest = _Forest(self._learned)
        return self._forest.quantiles(shape, shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Add a wait that is known to its end."""
        if censored or not is_wait(waited_s):
            return
        self._add(Record(shape, waited_s))
        self._new += 1
        if self._new >= max(FEWEST, len(self._records) // 10):
            self._learned, self._new = list(self._records.values()), 0
            self._forest = None

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


class _Forest:
    """Trees grown from records."""

    def __init__(self, records: Sequence[Record]) -> None:
        names = {name for record in records for name, value in record.shape.seen.items() if not isinstance(value, str)}
        self._names = sorted(names)
        self._waits_s = np.array([record.waited_s for record in records])
        table = np.array([self._values(record.shape) for record in records])
        draw = Generator(Philox(key=len(records)))
        count = min(TREES, -(-len(records) // LEAST))  # few records have few leaves, which few trees can tell apart
        self._trees = [grow(table, np.log1p(self._waits_s), draw) for _ in range(count)]

    def _values(self, shape: Shape) -> list[float]:
        each = (shape.nodes, shape.asked_s, shape.estimate_s, *(shape.seen.get(name) for name in self._names))
        numbers = (_UNKNOWN if value is None or isinstance(value, str) else float(value) for value in each)
        return [value if math.isfinite(value) else _UNKNOWN for value in numbers]

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        if not self._trees or not len(shares):
            return [0.0] * len(shares)
        values = self._values(shape)
        leaves = [tree.leaf(values) for tree in self._trees]
        waits_s = self._waits_s[np.concatenate(leaves)]
        weights = np.concatenate([np.full(leaf.size, 1.0 / leaf.size) for leaf in leaves])
        order = np.argsort(waits_s, kind="stable")
        passed = np.cumsum(weights[order])
        found = np.searchsorted(passed, np.array(shares) * passed[-1] * (1.0 - 1e-9))
        answers: list[float] = waits_s[order[np.minimum(found, order.size - 1)]].tolist()
        return answers


def grow(table: Floats, logs: Floats, draw: Generator) -> Tree:
    """Grow one tree, all nodes of a level at once: a row of the table for each record, and what to tell apart."""
    tree = Tree([], [], [], [])
    order, sizes = np.arange(logs.size), np.array([logs.size])
    while sizes.size:
        begins = np.cumsum(sizes) - sizes
        node = np.repeat(np.arange(sizes.size), sizes)
        columns, cuts = _best_splits(table, logs, order, sizes, draw)
        splits = columns >= 0
        rank: Whole = np.cumsum(splits) - 1  # among the nodes that split
        next_level = len(tree.columns) + sizes.size
        tree.columns += columns.tolist()
        tree.cuts += cuts.tolist()
        tree.lower += [next_level + 2 * place for place in rank.tolist()]
        tree.records += np.split(order, begins[1:])
        staying = splits[node]
        order, node = order[staying], node[staying]
        side = 2 * rank[node] + (table[order, columns[node]] > cuts[node])
        order = order[np.argsort(side, kind="stable")]
        sizes = np.bincount(side, minlength=2 * int(splits.sum()))
    return tree


def _best_splits(table: Floats, logs: Floats, order: Whole, sizes: Whole, draw: Generator) -> tuple[Whole, Floats]:
    """For each node the best of some random splits: its column (-1: none is allowed), and where it cuts."""
    begins = np.cumsum(sizes) - sizes
    node = np.repeat(np.arange(sizes.size), sizes)
    values = logs[order]
    totals = np.add.reduceat(values, begins)
    columns, cuts = np.full(sizes.size, -1), np.zeros(sizes.size)
    best = totals**2 / sizes + 1e-9  # the variance between the sides is this much less than what follows
    for _ in range(TRIES if sizes.max() >= 2 * LEAST else 0):
        column = draw.integers(table.shape[1], size=sizes.size)
        cut = table[order[begins + (draw.random(sizes.size) * sizes).astype(np.int64)], column]
        is_lower = table[order, column[node]] <= cut[node]
        lower = np.add.reduceat(is_lower, begins, dtype=np.float64)
        sums = np.add.reduceat(np.where(is_lower, values, 0.0), begins)
        upper = sizes - lower
        between = sums**2 / np.maximum(lower, 1) + (totals - sums) ** 2 / np.maximum(upper, 1)
        better = (lower >= LEAST) & (upper >= LEAST) & (between > best)
        columns, cuts, best = (
            np.where(better, new, old) for new, old in ((column, columns), (cut, cuts), (between, best))
        )
    return columns, cuts


def _request(shape: Shape) -> object:
    """What makes two requests alike."""
    told = (pair for pair in shape.seen.items() if pair[0] in REQUESTED or isinstance(pair[1], str))
    return shape.nodes, shape.asked_s, tuple(sorted(told))
