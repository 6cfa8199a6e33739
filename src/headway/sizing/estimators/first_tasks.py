"""The ladder for the first task of a category, from the first tasks of other categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.kernels.ladder import MOST_RUNGS, price, rungs_of

FEWEST = 3  # other categories that must be known before the first task of a new one is sized by them
_TRIED_IN_A_DOUBLING = 2  # amounts that may become rungs
_NOT_KNOWN = np.nan


class FirstTask(NamedTuple):
    """The first task of a category that succeeded."""

    peak: float
    run_s: float
    hint: float  # what the workflow asked for; 0: nothing


class Terms(NamedTuple):
    """What a failure costs, and how far the next maximum may lie above the last: as for `rungs_of`."""

    failed_share: float
    lost_besides: float
    spread: float
    fine: float


def climb(firsts: Sequence[FirstTask], hint: float | None, terms: Terms) -> tuple[NDArray[np.float64], bool]:
    """Return the rungs to try below the hint, with the hint on top, and whether they are shares of it.

    The first tasks of other categories have used amounts, and shares of their hints. Of both a ladder is made, and the
    one is taken that would have cost those tasks less. A task that needs more than any of these may still need far
    less than its hint, so that further rungs lie between. All amounts are counted in units well below them.
    """
    peaks, seconds, hints = np.array(firsts).T
    cost, rungs = _cheapest(peaks, seconds, np.ones(len(firsts)), terms)
    if hint is None:
        return rungs, False
    scaled = False
    if hints.all():
        cost_of_shares, shares = _cheapest(peaks, seconds, hints / hint, terms)
        scaled = cost_of_shares <= cost
        rungs = shares if scaled else rungs
    below = rungs[rungs < hint].tolist()
    further = between(below[-1], hint, terms, float(seconds.mean())) if below else []
    return np.array([*below, *further, hint]), scaled


def between(low: float, high: float, terms: Terms, run_s: float) -> list[float]:
    """Return the rungs below `high` that cost least for a task of `run_s` seconds that needs more than `low`.

    Nothing else is known of its peak: all orders of magnitude between the two amounts are equally likely.

    >>> free = Terms(failed_share=1.0, lost_besides=0.0, spread=0.1, fine=0.0)
    >>> [round(rung) for rung in between(1.0, 256.0, free, run_s=60.0)]
    [6, 32, 128]
    >>> between(1.0, 256.0, free._replace(fine=60.0 * 2560.0), run_s=60.0)
    []
    """
    parts = math.ceil(_TRIED_IN_A_DOUBLING * math.log2(high / low))
    amounts = [low * (high / low) ** (part / parts) for part in range(1, parts)] + [high]
    least = [0.0] * (parts + 1)  # the cost of a task that needs more than the amount before this one
    rung_after = [0] * parts
    for place in range(parts - 1, -1, -1):
        costs = []
        for rung in range(place, parts):
            fails = (parts - 1 - rung) / (parts - place)
            lost = terms.failed_share * (amounts[rung] + terms.lost_besides) + terms.fine / run_s
            costs.append((1.0 - fails) * amounts[rung] + fails * (lost + least[rung + 1]))
        least[place] = min(costs)
        rung_after[place] = place + costs.index(least[place])
    rungs, place = [], rung_after[0]
    while place < parts - 1:
        rungs.append(amounts[place])
        place = rung_after[place + 1]
    return rungs


def climb_shares(firsts: Sequence[FirstTask], hint: float, terms: Terms) -> NDArray[np.float64]:
    """Return the rungs by the shares of their hints that others used, each counted once: where failures are free."""
    logs = np.log(np.maximum(np.array([min(1.0, first.peak / first.hint) * hint for first in firsts]), 1.0))
    same = np.ones(len(logs))
    rungs = np.zeros(MOST_RUNGS)
    lost, spread = terms.lost_besides, terms.spread
    count = rungs_of(logs, same, same, 0.0, _NOT_KNOWN, 0.0, terms.failed_share, lost, spread, 0.0, rungs)
    return np.append(rungs[:count][rungs[:count] < hint], hint)


def _cheapest(
    peaks: NDArray[np.float64], seconds: NDArray[np.float64], scales: NDArray[np.float64], terms: Terms
) -> tuple[float, NDArray[np.float64]]:
    """Return the cheapest ladder for the peaks, each divided by its scale, and what it would have cost these tasks."""
    logs = np.log(np.maximum(peaks / scales, 1.0))
    rungs = np.zeros(MOST_RUNGS)
    lost, fine = terms.lost_besides, terms.fine
    count = rungs_of(logs, seconds, logs, 0.0, _NOT_KNOWN, 0.0, terms.failed_share, lost, terms.spread, fine, rungs)
    cost = 0.0
    for peak, lasted, scale in zip(peaks.tolist(), seconds.tolist(), scales.tolist(), strict=True):
        cost += lasted * price(rungs * scale, count, peak, terms.failed_share, lost, fine / lasted)
    return cost, rungs[:count]
