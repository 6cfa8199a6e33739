"""Strategies compared: each run with Per-Stage's run of the same workflow, cores, log and start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import exp, log
from statistics import fmean

import numpy as np
from msgspec import Struct

from headway.studies.paired import Interval, interval
from headway_papers.asa.published import ASA, BIG_JOB, PER_STAGE, TABLE_1
from headway_papers.asa.units import DEPENDENT, Done, Row

_RESAMPLES = 2000
Place = tuple[object, ...]


class Standing(Struct, frozen=True):
    """One strategy; ratios are to Per-Stage's runs, paired."""

    plan: str
    dependency: str
    runs: int
    through: int
    makespan_s: float  # means
    ratio: Interval  # of makespans, geometric mean
    gap: Interval  # mean logarithm of Per-Stage's makespan over Big Job's: the gap that ASA is to close
    closes: Interval | None  # share of that gap; None where it may be nothing: its interval reaches 0
    core_hours: float
    core_ratio: Interval  # of core-hours, mean
    total_wait_s: float
    perceived_wait_s: float
    idle_core_hours: float
    jobs: float
    early: int

    @property
    def name(self) -> str:
        """The plan, with the rule for dependent jobs where that matters."""
        return f"{self.plan}, {self.dependency}" if self.plan in DEPENDENT else self.plan


class Pairs(Struct, frozen=True):
    """The rows of one strategy, and those of Per-Stage and Big Job for the same runs."""

    plan: str
    dependency: str
    rows: list[Row]
    per_stage: list[Row]
    big_job: list[Row]
    clusters: list[Place]


def pairs_of(done: Iterable[Done], wanted: Callable[[Done, Row], bool] = lambda done, row: True) -> list[Pairs]:
    """By strategy, the runs in which all three succeeded."""
    by_place: dict[Place, dict[tuple[str, str], Row]] = {}
    for each in done:
        unit = each.unit
        for row in each.rows:
            if wanted(each, row):
                place: Place = (unit.backfill, unit.machine, unit.trace, row.repeat, row.workflow, row.cores)
                by_place.setdefault(place, {})[unit.plan, unit.dependency] = row
    names = list(dict.fromkeys((each.unit.plan, each.unit.dependency) for each in done))
    found = []
    for plan, rule in names:
        own = Pairs(plan, rule, [], [], [], [])
        for at, rows in by_place.items():
            trio = [rows.get(name) for name in ((plan, rule), (PER_STAGE, "reserved"), (BIG_JOB, "reserved"))]
            if all(row is not None and row.status == "succeeded" for row in trio):
                for kept, one in zip((own.rows, own.per_stage, own.big_job), trio, strict=True):
                    if one is not None:
                        kept.append(one)
                own.clusters.append(at[:4])
        if own.rows:
            found.append(own)
    return found


def standing(pairs: Pairs) -> Standing:
    """Summarize them. Runs of one repetition share a queue, so intervals resample whole repetitions."""
    rows, clusters = pairs.rows, pairs.clusters
    gained = [log(other.makespan_s / row.makespan_s) for row, other in zip(rows, pairs.per_stage, strict=True)]
    gaps = [log(a.makespan_s / b.makespan_s) for a, b in zip(pairs.per_stage, pairs.big_job, strict=True)]
    gain, gap = interval(gained, clusters), interval(gaps, clusters)
    ratios = [row.core_hours / other.core_hours for row, other in zip(rows, pairs.per_stage, strict=True)]
    return Standing(
        plan=pairs.plan,
        dependency=pairs.dependency,
        runs=len(rows),
        through=sum(row.status == "succeeded" for row in rows),
        makespan_s=fmean(row.makespan_s for row in rows),
        ratio=Interval(exp(-gain.mean), *(None if end is None else exp(-end) for end in (gain.high, gain.low))),
        gap=gap,
        closes=share_closed(gained, gaps, clusters) if gap.low is not None and gap.low > 0 else None,
        core_hours=fmean(row.core_hours for row in rows),
        core_ratio=interval(ratios, clusters),
        total_wait_s=fmean(row.total_wait_s for row in rows),
        perceived_wait_s=fmean(row.perceived_wait_s for row in rows),
        idle_core_hours=fmean(row.idle_core_hours for row in rows),
        jobs=fmean(row.jobs for row in rows),
        early=sum(row.early for row in rows),
    )


def share_closed(gained: Sequence[float], gaps: Sequence[float], clusters: Sequence[object]) -> Interval:
    """The gain as a share of the gap, over all runs, with a bootstrap of both together."""
    whole = sum(gained) / sum(gaps)
    names = list(dict.fromkeys(clusters))
    if len(names) < 2:
        return Interval(whole, None, None)
    sums = np.zeros((2, len(names)))
    for gain, gap, cluster in zip(gained, gaps, clusters, strict=True):
        sums[:, names.index(cluster)] += gain, gap
    drawn = np.random.Generator(np.random.Philox(key=0)).integers(len(names), size=(_RESAMPLES, len(names)))
    gain_sums, gap_sums = sums[0][drawn].sum(axis=1), sums[1][drawn].sum(axis=1)
    some = gap_sums > 0  # else there is no gap in that sample
    low, high = np.percentile(gain_sums[some] / gap_sums[some], [2.5, 97.5])
    return Interval(whole, float(low), float(high))


def published_closing() -> tuple[float, float, float]:
    """From Table 1: the share of the gap that ASA closes, and ASA's and Big Job's core-hours against Per-Stage's."""
    gained = [log(row[PER_STAGE].makespan_s / row[ASA].makespan_s) for row in TABLE_1.values()]
    gaps = [log(row[PER_STAGE].makespan_s / row[BIG_JOB].makespan_s) for row in TABLE_1.values()]
    ours, most = (
        fmean(row[plan].core_hours / row[PER_STAGE].core_hours for row in TABLE_1.values()) for plan in (ASA, BIG_JOB)
    )
    return sum(gained) / sum(gaps), ours, most
