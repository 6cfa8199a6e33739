"""Two plans compared where both got the same workflow through the same queue from the same start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log

import numpy as np
from msgspec import Struct

from headway.studies.runs import Key, Row

BEATS = 0.05  # 002, chapter 7: less is as good as equal
_RESAMPLES = 2000
_DAY_S = 86400.0
_SHORTEST_S = 1.0  # a makespan that is nothing would be infinitely better

Places = Mapping[Key, Mapping[str, Row]]  # rows by what they have in common, then by plan


class Interval(Struct, frozen=True):
    """A mean, and between what it lies with 95% confidence; unknown for fewer than two days of starts."""

    mean: float
    low: float | None
    high: float | None


class Pair(Struct, frozen=True):
    """A run and another plan's of the same kind."""

    row: Row
    other: Row

    @property
    def log_ratio(self) -> float:
        """Of the makespans; below 0 the first is better."""
        return log(max(_SHORTEST_S, self.row.makespan_s)) - log(max(_SHORTEST_S, self.other.makespan_s))

    @property
    def gain(self) -> float:
        """By which share the first's makespan is shorter than the other's, as 002 gives it."""
        return 1 - self.row.makespan_s / max(_SHORTEST_S, self.other.makespan_s)

    @property
    def day(self) -> tuple[str, float, int]:
        """Starts of one day meet the same queue: they are not independent."""
        return self.row.trace, self.row.begins_s, int(self.row.start_s // _DAY_S)


def places_of(rows: Iterable[Row]) -> dict[Key, dict[str, Row]]:
    """Rows by place and plan."""
    found: dict[Key, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.place, {})[row.plan] = row
    return found


def pairs_of(places: Places, plan: str, other: str) -> list[Pair]:
    """Where both got through."""
    both = ((by_plan[plan], by_plan[other]) for by_plan in places.values() if plan in by_plan and other in by_plan)
    return [Pair(row, against) for row, against in both if row.through and against.through]


def interval(values: Sequence[float], clusters: Sequence[object]) -> Interval:
    """The mean of `values`, and a bootstrap over whole clusters. Drawn the same each time."""
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
    """The mean logarithm of makespan ratios."""
    return interval([pair.log_ratio for pair in pairs], [pair.day for pair in pairs])


def ratio(pairs: Sequence[Pair]) -> Interval:
    """The geometric mean of makespan ratios: 0.9 is 10% shorter."""
    found = log_ratio(pairs)
    low, high = (None if end is None else exp(end) for end in (found.low, found.high))
    return Interval(exp(found.mean), low, high)


def gain(pairs: Sequence[Pair]) -> Interval:
    """The mean share by which makespans are shorter."""
    return interval([pair.gain for pair in pairs], [pair.day for pair in pairs])
