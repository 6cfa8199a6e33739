"""Quantiles of what records near a question say, each record weighed by how near it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled_when_busy

Floats = NDArray[np.float64]

SURE = 1e-9  # what rounding may lack of a share


@compiled_when_busy(calls=50)
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
    """Fill `found` with the values that these shares (never falling) of the records near the question do not exceed.

    `values` never fall; `known` is 1 where a record's value is known and 0 where it is only known to be greater, which
    is taken account of as by Kaplan and Meier: its weight goes to those above. `places` has a column a record and
    `question` a number a row. A record weighs the product of 1 / (1 + distance²) over the rows. One more record of
    typical weight stands above all, at `top` or at the greatest value: the question's own answer may be the greatest
    yet, and with few records nearby that is likely. `weights` is room to work in.
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
    left = total + (squares / total if total > 0.0 else 1.0)  # the weight of those not yet passed, and who stands above
    beyond = 1.0  # the share of all that is greater than what was passed
    unit = beyond / left  # what a weight of 1 is as a share; the same until somebody whose value is not known is passed
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
