"""The figures behind the paper's Figures 3 to 7, counted and averaged from the scenarios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np
from msgspec import Struct

from headway.studies.paired import Interval, interval
from headway_papers.feedback.entrants import TTFS, Pair, is_published
from headway_papers.feedback.units import Done, Row
from headway_papers.feedback.workflows import TERABYTE_WEEK
from headway_papers.fixed_pool.pool import POOL

MAKESPAN, MAQ = "makespan", "MAQ"
METRICS = (MAKESPAN, MAQ)
LEAST_DAYS = TERABYTE_WEEK / POOL.memory_bytes / 86400.0  # section V-D: with a MAQ of 1 and a pool that is always full
Wanted = Callable[[Pair], bool]


class Case(Struct, frozen=True):
    """A workflow at a time to failure (TTF), and the scenario of every combination."""

    family: str
    number: int
    ttf: float
    rows: Mapping[Pair, Row]

    @property
    def workflow(self) -> tuple[str, int]:
        """The unit of resampling: one workflow's scenarios are not independent."""
        return self.family, self.number


def cases_of(done: Sequence[Done]) -> list[Case]:
    """Every workflow at every time to failure."""
    return [
        Case(each.unit.family, each.unit.number, ttf, {row.pair: row for row in each.rows if row.ttf == ttf})
        for each in done
        for ttf in TTFS
    ]


def cost(row: Row, metric: str) -> float:
    """A value that is smaller for a better scenario."""
    return row.makespan_s if metric == MAKESPAN else -row.maq


def winners(case: Case, metric: str, wanted: Wanted = is_published, *, worst: bool = False) -> list[Pair]:
    """The best combinations, or the worst; several if they tie."""
    sign = -1.0 if worst else 1.0
    costs = {pair: sign * cost(row, metric) for pair, row in case.rows.items() if wanted(pair)}
    least = min(costs.values())
    return [pair for pair, value in costs.items() if value == least]


def pair_wins(
    cases: Iterable[Case], metric: str, wanted: Wanted = is_published, *, worst: bool = False
) -> Counter[Pair]:
    """Figures 5 and 7: for how many workflows each combination is best, or worst."""
    return Counter(pair for case in cases for pair in winners(case, metric, wanted, worst=worst))


def order_wins(cases: Iterable[Case], metric: str, wanted: Wanted = is_published) -> Counter[str]:
    """Figure 4: for how many workflows each order is best with some predictor."""
    best = (dict.fromkeys(order for order, _ in winners(case, metric, wanted)) for case in cases)
    return Counter(order for orders in best for order in orders)


def mean_of(cases: Sequence[Case], pair: Pair, value: Callable[[Row], float]) -> Interval:
    """The mean over cases, with a bootstrap over workflows."""
    return interval([value(case.rows[pair]) for case in cases], [case.workflow for case in cases])


def difference(cases: Sequence[Case], one: Pair, other: Pair, value: Callable[[Row], float]) -> Interval:
    """The mean of the first combination's value less the other's, in the same cases."""
    values = [value(case.rows[one]) - value(case.rows[other]) for case in cases]
    return interval(values, [case.workflow for case in cases])


def days(row: Row) -> float:
    """The makespan in days, as the paper gives it."""
    return row.makespan_s / 86400.0


def maq(row: Row) -> float:
    """Memory allocation quality."""
    return row.maq


def in_use(row: Row) -> float:
    """The share of the pool's memory that was given to tasks, over the whole run."""
    return TERABYTE_WEEK / row.maq / (POOL.memory_bytes * row.makespan_s)


class Spread(Struct, frozen=True):
    """Figure 3 for one predictor, over orders, workflows and times to failure."""

    entrant: str
    scenarios: int
    maq_quartiles: tuple[float, float, float]
    days_quartiles: tuple[float, float, float]
    below_half: float  # share of scenarios with a MAQ below 50%
    above_80: float
    highest_maq: float
    correlation: float  # of ranks: MAQ against makespan
    least_slack: float  # how near a makespan comes to what its MAQ allows; never below 1


def spread(cases: Iterable[Case], entrant: str, orders: Sequence[str]) -> Spread:
    """Every order with that predictor."""
    rows = [case.rows[order, entrant] for case in cases for order in orders]
    quality = np.array([row.maq for row in rows])
    length = np.array([days(row) for row in rows])
    by_quality, by_length = (np.argsort(np.argsort(values)).astype(float) for values in (quality, length))
    return Spread(
        entrant,
        len(rows),
        _quartiles(quality),
        _quartiles(length),
        float(np.mean(quality < 0.5)),
        float(np.mean(quality > 0.8)),
        float(quality.max()),
        float(np.corrcoef(by_quality, by_length)[0, 1]),
        float((length * quality / LEAST_DAYS).min()),
    )


def _quartiles(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float, float]:
    low, middle, high = (float(value) for value in np.percentile(values, [25, 50, 75]))
    return low, middle, high


Group = tuple[str, float]  # family and TTF


def group_means(cases: Sequence[Case]) -> dict[Group, dict[Pair, tuple[float, float]]]:
    """Mean MAQ and mean makespan in days of every combination in each of the 15 groups."""
    members: dict[Group, list[Case]] = {}
    for case in cases:
        members.setdefault((case.family, case.ttf), []).append(case)
    return {
        group: {
            pair: (fmean(it.rows[pair].maq for it in each), fmean(days(it.rows[pair]) for it in each))
            for pair in each[0].rows
        }
        for group, each in members.items()
    }


def dominators(means: Mapping[Pair, tuple[float, float]], ours: Pair, wanted: Wanted) -> list[Pair]:
    """The combinations that are better than ours on both, in a group."""
    quality, length = means[ours]
    return [
        pair
        for pair, found in means.items()
        if pair != ours and wanted(pair) and found[0] > quality and found[1] < length
    ]
