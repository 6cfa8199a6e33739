"""Gradient boosting with histograms: a function of many numbers as a sum of small trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator, Philox
from numpy.typing import NDArray

TREES = 100
RATE = 0.1  # the share of what a tree says that is added
DEPTH = 5  # splits from a tree's root to a leaf
LEAST, LEAST_SHARE = 20, 0.02  # rows of a leaf: so many, or this share of all, if that is less
DAMPING = 5.0  # a leaf says the sum of its rows divided by their number and this, so that few rows say little
BINS = 64  # the values of a column are told apart by quantiles only
ROWS, COLUMNS = 0.5, 0.5  # the shares that a tree is grown from, drawn at random

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Tree(NamedTuple):
    """A binary tree as arrays: the children of node n are 2 n + 1, for values up to the cut, and 2 n + 2."""

    columns: Whole  # -1: a leaf
    cuts: Whole  # a bin
    says: Floats


class Boosted:
    """A function of a row of numbers, fitted by least squares.

    Each tree is fitted to what those before it left over (Friedman 2001, "Greedy function approximation: a gradient
    boosting machine"), from a random half of the rows (Friedman 2002, "Stochastic gradient boosting"). Splits are
    looked for between the quantiles of a column, by sums over bins (Ke et al. 2017, "LightGBM"), so that neither the
    unit of a column nor a monotone function of it matters. The same rows always give the same trees.

    >>> table = np.arange(200.0)[:, None]
    >>> fitted = Boosted(table, np.where(table[:, 0] < 100, 1.0, 3.0))
    >>> fitted.values(np.array([[20.0], [180.0]])).round(1).tolist()
    [1.0, 3.0]
    """

    def __init__(self, table: Floats, wanted: Floats) -> None:
        shares = np.arange(1, BINS) / BINS
        self._edges = [np.unique(np.quantile(column, shares, method="lower")) for column in table.T]
        self._begin = float(np.median(wanted))
        bins = self._binned(table)
        left = wanted - self._begin
        draw = Generator(Philox(key=len(wanted)))
        trees = []
        for _ in range(TREES):
            rows = np.flatnonzero(draw.random(len(wanted)) < ROWS)
            columns = np.flatnonzero(draw.random(table.shape[1]) < COLUMNS)
            tree = grown(bins[np.ix_(rows, columns)], left[rows])
            trees.append(tree._replace(columns=np.where(tree.columns < 0, -1, np.append(columns, 0)[tree.columns])))
            left -= RATE * _leaves_say(trees[-1], bins)
        self._trees = Tree(*(np.stack(each) for each in zip(*trees, strict=True)))  # a row for each tree

    def values(self, table: Floats) -> Floats:
        """The function's value for each row."""
        return np.array([self._value(row) for row in self._binned(table)])

    def _value(self, bins: Whole) -> float:
        every, node = np.arange(TREES), np.zeros(TREES, np.int64)
        for _ in range(DEPTH):
            column = self._trees.columns[every, node]
            below = 2 * node + 1 + (bins[column] > self._trees.cuts[every, node])
            node = np.where(column < 0, node, below)
        return self._begin + RATE * float(self._trees.says[every, node].sum())

    def _binned(self, table: Floats) -> Whole:
        return np.stack([np.searchsorted(edges, column) for edges, column in zip(self._edges, table.T, strict=True)], 1)


def grown(bins: Whole, wanted: Floats) -> Tree:
    """Grow one tree, all nodes of a level at once. `bins`: a row for each value that is wanted."""
    nodes = 2 ** (DEPTH + 1) - 1
    tree = Tree(np.full(nodes, -1), np.zeros(nodes, np.int64), np.zeros(nodes))
    node = np.zeros(len(wanted), np.int64)
    least = max(1.0, min(LEAST, LEAST_SHARE * len(wanted)))
    for level in range(DEPTH + 1):
        first, count = 2**level - 1, 2**level
        inside = node >= first  # others have come to a leaf
        bins, wanted, node = bins[inside], wanted[inside], node[inside]
        place = node - first
        sizes = np.bincount(place, minlength=count).astype(np.float64)
        sums = np.bincount(place, wanted, count).astype(np.float64)
        tree.says[first : first + count] = sums / (sizes + DAMPING)
        if level == DEPTH or not bins.size:
            break
        columns, cuts = _best_splits(bins, wanted, place, sizes, sums, least)
        tree.columns[first : first + count], tree.cuts[first : first + count] = columns, cuts
        goes_up = bins[np.arange(len(node)), columns[place]] > cuts[place]
        node = np.where(columns[place] < 0, node, 2 * node + 1 + goes_up)
    return tree


def _best_splits(
    bins: Whole, wanted: Floats, place: Whole, sizes: Floats, sums: Floats, least: float
) -> tuple[Whole, Whole]:
    """For each node of a level the column to split (-1: none) and the last bin of the lower side."""
    shape = (sizes.size, bins.shape[1], BINS)
    at = ((place[:, None] * shape[1] + np.arange(shape[1])) * BINS + bins).ravel()
    lower = np.bincount(at, minlength=np.prod(shape)).reshape(shape).cumsum(axis=2)
    total = np.bincount(at, np.repeat(wanted, shape[1]), np.prod(shape)).reshape(shape).cumsum(axis=2)
    upper = sizes[:, None, None] - lower
    gain = total**2 / (lower + DAMPING) + (sums[:, None, None] - total) ** 2 / (upper + DAMPING)
    gain[(lower < least) | (upper < least)] = 0.0
    best = gain.reshape(shape[0], -1).argmax(axis=1)
    worth = gain.reshape(shape[0], -1)[np.arange(shape[0]), best] > sums**2 / (sizes + DAMPING) + 1e-9
    columns, cuts = np.divmod(best, BINS)
    return np.where(worth, columns, -1), cuts


def _leaves_say(tree: Tree, bins: Whole) -> Floats:
    """What the leaf says that each row comes to."""
    every, node = np.arange(len(bins)), np.zeros(len(bins), np.int64)
    for _ in range(DEPTH):
        column = tree.columns[node]
        node = np.where(column < 0, node, 2 * node + 1 + (bins[every, column] > tree.cuts[node]))
    return tree.says[node]
