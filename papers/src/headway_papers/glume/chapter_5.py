"""Figures 5.2, 5.3 and A.1, how often Zhang's algorithm falls back to a simple one, and what its enhancements do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from headway.studies.paired import Interval, interval, pairs_of, places_of
from headway.studies.runs import PER_TASK_WAY, THEN_PER_TASK, WHOLE, Row
from headway_papers.glume.chapter_7 import Gains, gains_over
from headway_papers.glume.modes import CAP, CHAPTER_5_PLANS, OTHER_CAP
from headway_papers.glume.plans import VARIANTS, ZHANG_AS_CODED, variant
from headway_papers.glume.published import (
    NOT_ONE_JOB_AT_16_BETTER,
    NOT_PER_TASK_AT_128_BETTER,
    ONE_JOB_AT_16,
    PER_TASK_AT_128,
)
from headway_papers.glume.workflows import DURATIONS, LOGS, Workflow

_SAME = 1e-3  # makespans that differ by a smaller share count as equal
PLAIN_ZHANG = variant(everywhere=False, best_nodes=False, binary_search=False)


class Fallback(Struct, frozen=True):
    """How often Zhang's algorithm falls back to a simple one; and where it does not, how often it is better."""

    log: str
    cap: int
    to: str
    share: Interval  # of runs that fall back at the start
    sometime: float  # share that does so at the start or later, for the remaining levels
    published: float | None
    better: float | None  # None if it always falls back
    published_better: float | None


class Picture(Struct, frozen=True):
    """A figure of the thesis: by how much makespans are shorter than Zhang's."""

    log: str
    cap: int
    gains: Gains


class Enhanced(Struct, frozen=True):
    """A variant of Zhang's algorithm against the one without enhancements."""

    variant: str
    log: str
    duration: str
    runs: int
    better: int
    worse: int
    mean_gain: float  # where it is better


def _here(rows: Sequence[Row], trace: str, cap: int) -> list[Row]:
    return [row for row in rows if (row.trace, row.most_jobs, row.requests) == (trace, cap, "accurate")]


def pictures(rows: Sequence[Row], logs: Mapping[str, str], workflows: Mapping[str, Workflow]) -> list[Picture]:
    """Figures 5.2 and 5.3 (KTH) and A.1 (SDSC)."""
    plans = [plan for plan in CHAPTER_5_PLANS if plan != ZHANG_AS_CODED]
    found = []
    for trace, log in logs.items():
        for cap in (OTHER_CAP, CAP):
            gains = gains_over(_here(rows, trace, cap), ZHANG_AS_CODED, plans, workflows)
            if gains:
                found.append(Picture(log, cap, gains))
    return found


def fallbacks(rows: Sequence[Row], logs: Mapping[str, str]) -> list[Fallback]:
    """§5.2's shares for both logs and caps; the thesis gives two of them, for KTH."""
    known = {
        ("KTH", OTHER_CAP, PER_TASK_WAY): (PER_TASK_AT_128, NOT_PER_TASK_AT_128_BETTER),
        ("KTH", CAP, WHOLE): (ONE_JOB_AT_16, NOT_ONE_JOB_AT_16_BETTER),
    }
    found = []
    for trace, log in logs.items():
        for cap in (OTHER_CAP, CAP):
            here = _here(rows, trace, cap)
            zhang = [row for row in here if row.plan == ZHANG_AS_CODED]
            for way in (PER_TASK_WAY, WHOLE) if zhang else ():
                fell = interval([float(row.way == way) for row in zhang], [row.start_s // 86400 for row in zhang])
                ways = (way, THEN_PER_TASK) if way == PER_TASK_WAY else (way,)
                sometime = fmean(row.way in ways for row in zhang)
                pairs = pairs_of(places_of(here), ZHANG_AS_CODED, way)
                others = [pair.row.makespan_s < pair.other.makespan_s for pair in pairs if pair.row.way not in ways]
                better = fmean(others) if others else None
                published, published_better = known.get((log, cap, way), (None, None))
                found.append(Fallback(log, cap, way, fell, sometime, published, better, published_better))
    return found


def enhancements(rows: Sequence[Row], logs: Mapping[str, str], workflows: Mapping[str, Workflow]) -> list[Enhanced]:
    """Each variant against the plain one, over all caps."""
    places = places_of(rows)
    found = []
    for plan in (plan.name for plan in VARIANTS if plan.name != PLAIN_ZHANG):
        pairs = pairs_of(places, plan, PLAIN_ZHANG)
        for log in LOGS:
            for duration in DURATIONS.values():
                gains = [
                    pair.gain
                    for pair in pairs
                    if logs[pair.row.trace] == log and workflows[pair.row.workflow].duration == duration
                ]
                if gains:
                    better = [value for value in gains if value > _SAME]
                    worse = sum(value < -_SAME for value in gains)
                    mean = fmean(better) if better else 0.0
                    found.append(Enhanced(plan, log, duration, len(gains), len(better), worse, mean))
    return found
