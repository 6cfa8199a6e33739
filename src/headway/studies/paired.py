"""Paired comparison of plans: the same workflow, queue and start, completed under both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log

import numpy as np
from msgspec import Struct

from headway.studies.runs import Key, Row

BEATS = 0.05  # a smaller difference of makespans counts as a tie (the GLUME thesis (2020), chapter 7)
_RESAMPLES = 2000
_DAY_S = 86400.0
_SHORTEST_S = 1.0  # shorter makespans count as this, since their ratios would be infinite

Places = Mapping[Key, Mapping[str, Row]]  # rows by everything but the plan, then by plan


class Interval(Struct, frozen=True):
    """A mean and its 95% confidence interval, which is unknown with fewer than two days of starts."""

    mean: float
    low: float | None
    high: float | None


class Pair(Struct, frozen=True):
    """Two runs that differ only in their plans."""

    row: Row
    other: Row

    @property
    def log_ratio(self) -> float:
        """Natural logarithm of the ratio of makespans; below 0 the first run is shorter."""
        return log(max(_SHORTEST_S, self.row.makespan_s)) - log(max(_SHORTEST_S, self.other.makespan_s))

    @property
    def gain(self) -> float:
        """The share by which the first makespan is shorter than the other (as in the GLUME thesis)."""
        return 1 - self.row.makespan_s / max(_SHORTEST_S, self.other.makespan_s)

    @property
    def day(self) -> tuple[str, float, int]:
        """The cluster for resampling: starts of one day meet the same queue, so they are not independent."""
        return self.row.trace, self.row.begins_s, int(self.row.start_s // _DAY_S)


def places_of(rows: Iterable[Row]) -> dict[Key, dict[str, Row]]:
    """Group rows by everything but the plan, then by plan."""
    found: dict[Key, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.place, {})[row.plan] = row
    return found


def pairs_of(places: Places, plan: str, other: str) -> list[Pair]:
    """Pairs in which both plans completed the workflow."""
    both = ((by_plan[plan], by_plan[other]) for by_plan in places.values() if plan in by_plan and other in by_plan)
    return [Pair(row, against) for row, against in both if row.through and against.through]


def interval(values: Sequence[float], clusters: Sequence[object]) -> Interval:
    """The mean of `values`, with an interval from a bootstrap over whole clusters; the same draws every time."""
    mean = float(np.mean(values))
    members: dict[object, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        members.setdefault(cluster, []).append(value)
    if len(members) < 2:
        return Interval(mean, None, None)
    sums = np.array([sum(each) for each in members.values()])
    counts = np.array([len(each) for each in members.values()])
    draw = np.random.Generator(np.random.Philox(key=0))
    drawn = draw.integers(len(sums), size=(_RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(mean, float(low), float(high))


def log_ratio(pairs: Sequence[Pair]) -> Interval:
    """The mean logarithm of the makespan ratios."""
    return interval([pair.log_ratio for pair in pairs], [pair.day for pair in pairs])


def ratio(pairs: Sequence[Pair]) -> Interval:
    """The geometric mean of the makespan ratios: 0.9 is 10% shorter."""
    found = log_ratio(pairs)
    low, high = (None if end is None else exp(end) for end in (found.low, found.high))
    return Interval(exp(found.mean), low, high)


def gain(pairs: Sequence[Pair]) -> Interval:
    """The mean share by which makespans are shorter."""
    return interval([pair.gain for pair in pairs], [pair.day for pair in pairs])
