"""Pooled against apart, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.queue.words import node_hours, waited
from headway.report.words import count, share
from headway.studies.pooled import PoolRow
from headway.studies.tables import Line

_WAYS = (
    Field("response", "mean", lambda row: waited(row.mean_s), 90),
    Field("response", "90%", lambda row: waited(row.tail_s), 80),
    Field("core-hours", "held", lambda row: node_hours(row.core_hours), 85),
    Field("core-hours", "used", lambda row: node_hours(row.used_core_hours), 40),
    Field("", "jobs", lambda row: f"{row.jobs:,}", 50),
    Field("against alone", "fairness", lambda row: f"{row.fairness:.2f}", 70),
    Field("against alone", "slowest", lambda row: f"{row.worst:.2f}", 60),
)
_WORKFLOWS = (
    Field("", "tasks", lambda row: f"{row.tasks:,}", 30),
    Field("", "arrives", lambda row: waited(row.arrives_s), 40),
    Field("response", "alone", lambda row: waited(row.alone_s), 80),
    Field("response", "apart", lambda row: waited(row.apart_s), 70),
    Field("response", "pooled", lambda row: waited(row.pooled_s), 85),
    Field("", "pooled/alone", lambda row: f"{row.pooled_s / max(1.0, row.alone_s):.2f}", 90),
)


def lines_of(rows: Sequence[PoolRow], width: int) -> Iterator[Line]:
    """For each log and start the three ways and every workflow, and a sentence on all."""
    for row in rows:
        yield Text(f"{row.trace}, first arrival {format_duration(row.start_s)} into the log", style="bold"), False
        for line in table_lines("way", [way.way for way in row.ways], row.ways, _WAYS, width, total=False):
            yield line, True
        yield "", False
        names = [each.workflow for each in row.workflows]
        for line in table_lines("workflow", names, row.workflows, _WORKFLOWS, width, total=False):
            yield line, True
        yield "", False
    yield Text(verdict(rows), style="bold"), False


def verdict(rows: Sequence[PoolRow]) -> str:
    """One sentence: what the pool saves against workflows apart, and in how many cells."""
    _, apart, pooled = (list(ways) for ways in zip(*(row.ways for row in rows), strict=True))
    sooner = sum(one.mean_s < other.mean_s for one, other in zip(pooled, apart, strict=True))
    cheaper = sum(one.core_hours < other.core_hours for one, other in zip(pooled, apart, strict=True))
    time = 1 - sum(way.mean_s for way in pooled) / sum(way.mean_s for way in apart)
    hours = 1 - sum(way.core_hours for way in pooled) / sum(way.core_hours for way in apart)
    return (
        f"pooled, the mean response time is {_less(time)} and the core-hours are {_less(hours)} than apart; "
        f"of {count(len(rows), 'cell')} the response time is lower in {sooner}, the core-hours in {cheaper}"
    )


def _less(part: float) -> str:
    return f"{share(abs(part))} {'lower' if part >= 0 else 'higher'}"
