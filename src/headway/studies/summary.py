"""Summary of a comparison: each plan against a reference plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from statistics import fmean, median

from msgspec import Struct

from headway.studies.paired import BEATS, Interval, pairs_of, places_of, ratio
from headway.studies.runs import Row


class Standing(Struct, frozen=True):
    """The figures of one plan; ratio, wins, ties and losses compare its makespans with the reference's, run by run."""

    plan: str
    runs: int
    through: int  # runs in which the workflow was completed
    makespan_s: float | None  # median
    ratio: Interval | None  # geometric mean
    mean_log_ratio: float | None
    wins: int  # by 5% or more
    ties: int
    losses: int
    jobs: float  # mean of a run, as all below
    node_hours: float
    busy_share: float
    core_hours: float  # held by jobs
    used_core_hours: float  # in which tasks ran


class Summary(Struct, frozen=True):
    """A comparison over all runs, by log and by workflow."""

    reference: str
    overall: list[Standing]  # the best first
    by_trace: dict[str, list[Standing]]  # and by requests, if the study has both kinds
    by_workflow: dict[str, list[Standing]]
    in_cores: bool = False  # whether the queues count cores instead of nodes


def summary_of(rows: Sequence[Row], reference: str) -> Summary:
    """Summarise all rows against the plan `reference`."""
    several = len({row.requests for row in rows}) > 1
    return Summary(
        reference,
        standings(rows, reference),
        _parts(rows, reference, lambda row: f"{row.trace}, {row.requests} requests" if several else row.trace),
        _parts(rows, reference, lambda row: row.workflow),
        any(row.nodes in ("whole", "shared") for row in rows),
    )


def standings(rows: Sequence[Row], reference: str) -> list[Standing]:
    """The figures of each plan, the shortest makespans first."""
    places = places_of(rows)
    found = []
    for plan in dict.fromkeys(row.plan for row in rows):
        own = [row for row in rows if row.plan == plan]
        through = [row for row in own if row.through]
        pairs = pairs_of(places, plan, reference)
        logs = [pair.log_ratio for pair in pairs]
        wins, losses = (sum(sign * value >= log(1 + BEATS) for value in logs) for sign in (-1, 1))
        found.append(
            Standing(
                plan,
                len(own),
                len(through),
                median(row.makespan_s for row in through) if through else None,
                ratio(pairs) if pairs else None,
                fmean(logs) if logs else None,
                wins,
                len(logs) - wins - losses,
                losses,
                fmean(row.jobs for row in own),
                fmean(row.node_hours for row in own),
                fmean(row.busy_share for row in own),
                fmean(row.core_hours for row in own),
                fmean(row.used_core_hours for row in own),
            )
        )
    return sorted(found, key=lambda it: (it.mean_log_ratio is None, it.mean_log_ratio or 0.0))


def _parts(rows: Sequence[Row], reference: str, part: Callable[[Row], str]) -> dict[str, list[Standing]]:
    names = dict.fromkeys(part(row) for row in rows)
    return {name: standings([row for row in rows if part(row) == name], reference) for name in names}
