"""Alignment with gaps: Smith and Waterman's local alignment with affine gaps (O. Gotoh, 1982), within a band.

A band is the part of the matrix around one diagonal: row i is a base of the query, column d stands for base
``i + d`` of the target. Numpy works on one row of many bands at a time.

A cell holds its score and, in the lower half of the same 64 bits, the cell in which its alignment began. Adding a
score leaves the lower half alone and the larger of two cells is the one with the better score, so that beginnings
travel along for nothing: no matrix has to be kept to be traced back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from match.scores import GAP_EXTEND, GAP_OPEN, MATCH, MISMATCH
from match.sequences import Array

ONE = np.int64(1 << 32)  # one point of score
LOWEST = -(1 << 20) * ONE


@dataclass(frozen=True, eq=False)
class Aligned:
    """The best local alignment of each pair: score and ``[start, end)`` in query and target; score 0 if none."""

    score: Array
    query_start: Array
    query_end: Array
    target_start: Array
    target_end: Array


def rows(query: Array, target: Array) -> Iterator[Array]:
    """The matrices of many pairs, row by row: cells (pair, column) as packed above.

    ``query`` is (pairs, length), ``target`` (pairs, length + width - 1): what lies beyond a sequence's end is filled
    with something that matches nothing.
    """
    pairs, length = query.shape
    width = target.shape[1] - length + 1
    column = np.arange(width, dtype=np.int64)
    ramp = column * (GAP_EXTEND * ONE)
    cell = np.full((pairs, width), LOWEST)
    down = np.full((pairs, width), LOWEST)  # the best that ends here with a query base that has no partner
    across = np.full((pairs, width), LOWEST)  # the same for a target base
    for i in range(length):
        score = np.where(target[:, i : i + width] == query[:, i, None], MATCH * ONE, MISMATCH * ONE)
        # The cell above lies one column further right in the row before, where the band has moved on.
        down[:, :-1] = np.maximum(cell[:, 1:] - GAP_OPEN * ONE, down[:, 1:]) - GAP_EXTEND * ONE
        cell = np.maximum(cell, column + i * width)  # an alignment may begin here
        cell += score
        np.maximum(cell, down, out=cell)
        # A gap along the row may begin in any cell to the left; one that begins in another such gap is never better.
        np.maximum.accumulate((cell + ramp)[:, :-1], axis=1, out=across[:, 1:])
        across[:, 1:] -= ramp[1:] + GAP_OPEN * ONE
        np.maximum(cell, across, out=cell)
        yield cell


def align(query: Array, target: Array) -> Aligned:
    """The best alignment in each band."""
    pairs, length = query.shape
    width = target.shape[1] - length + 1
    best = np.zeros(pairs, np.int64)
    end_row = np.full(pairs, -1)
    end_column = np.zeros(pairs, np.int64)
    every = np.arange(pairs)
    for i, cell in enumerate(rows(query, target)):
        column = cell.argmax(axis=1)
        value = cell[every, column]
        better = value // ONE > best // ONE
        best[better], end_row[better], end_column[better] = value[better], i, column[better]
    start_row, start_column = np.divmod(best % ONE, width)
    return Aligned(
        score=best // ONE,
        query_start=start_row,
        query_end=end_row + 1,
        target_start=start_row + start_column,
        target_end=np.where(end_row < 0, 0, end_row + end_column + 1),
    )
