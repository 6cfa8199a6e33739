"""How long before it is needed a job should be submitted: the newsvendor's question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SHARES = tuple((number + 0.5) / 10 for number in range(10))  # quantiles that stand for the distribution of a wait


class Lead(NamedTuple):
    """A lead time, and what it is expected to cost in unit-seconds: idle units if early, a later end if late."""

    lead_s: float
    cost: float


def best_lead(waits_s: Sequence[float], units: float, price: float, most_s: float) -> Lead:
    """The cheapest lead time up to `most_s` for a job of so many units whose wait is one of these, all as likely.

    A second of delay costs `price` unit-seconds. Without a limit the best is the quantile price / (price + units)
    of the wait (Arrow, Harris and Marschak 1951).

    >>> best_lead([0.0, 60.0, 120.0, 600.0], units=1, price=9, most_s=3600.0)
    Lead(lead_s=600.0, cost=405.0)
    >>> best_lead([0.0, 60.0, 120.0, 600.0], units=9, price=9, most_s=3600.0).lead_s
    60.0
    """
    waits = np.array(waits_s)
    tried = np.unique(np.minimum(np.append(waits, 0.0), most_s))
    early_s = np.maximum(0.0, tried[:, None] - waits).mean(axis=1)
    late_s = np.maximum(0.0, waits - tried[:, None]).mean(axis=1)
    costs = units * early_s + price * late_s
    best = int(np.argmin(costs))
    return Lead(float(tried[best]), float(costs[best]))
