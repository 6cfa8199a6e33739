"""Quantiles of the records near a question, each record weighted by how near it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled

Floats = NDArray[np.float64]

SURE = 1e-9  # tolerance for rounding errors in shares


@compiled
def nearby_quantiles(
    values: Floats,
    known: Floats,
    places: Floats,
    question: Floats,
    shares: Floats,
    top: float,
    weights: Floats,
    found: Floats,
) -> None:
    """Fill `found` with quantiles: the values that the given shares of the records near the question do not exceed.

    `shares` and `values` ascend. `known` is 1 where a record's value is known and 0 where the true value is greater (a
    censored record, whose weight goes to those above, as by Kaplan and Meier). `places` has a column for each record
    and `question` a number for each row; a record's weight is the product of 1 / (1 + distance²) over the rows. One
    more record of typical weight stands above all, at `top` or at the greatest value: the answer to the question may be
    the greatest yet, and with few records nearby that is likely. `weights` is scratch space.
    """
    records = values.size
    total = 0.0
    squares = 0.0
    for record in range(records):
        far = 1.0
        for row in range(question.size):
            away = places[row, record] - question[row]
            far *= 1.0 + away * away
        weight = 1.0 / far
        weights[record] = weight
        total += weight
        squares += weight * weight
    left = total + (
        squares / total if total > 0.0 else 1.0
    )  # the weight of all records not yet passed, and of the one above all
    beyond = 1.0  # the share of all that is greater than what was passed
    unit = beyond / left  # the share of a weight of 1; it changes when a censored record is passed
    asked = 0
    for record in range(records):
        if asked == shares.size:
            break
        if known[record] > 0.0:
            beyond -= unit * weights[record]
            while asked < shares.size and 1.0 - beyond >= shares[asked] - SURE:
                found[asked] = values[record]
                asked += 1
        else:
            unit = beyond / (beyond / unit - weights[record])
    greatest = top
    if records > 0 and values[records - 1] > top:
        greatest = values[records - 1]
    while asked < shares.size:
        found[asked] = greatest
        asked += 1
