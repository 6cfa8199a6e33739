"""The table at the end of a run: one line per category."""

from __future__ import annotations

from rich.text import Text

from headway.model.units import format_duration
from headway.report.columns import Field, table_lines
from headway.report.run.figures import Figures
from headway.report.run.summary import RunSummary
from headway.report.words import NOTHING, amount, held, share

TITLES = {"memory_bytes": "memory", "cores": "cores", "disk_bytes": "disk"}


def end_table(summary: RunSummary, width: int) -> list[Text]:
    """Tasks, attempts, run time, and the use of each resource, by category and in total."""
    rows = list(summary.categories.values())
    whole = summary.whole()
    total = len(rows) > 1
    if total:
        rows = [*rows, whole]
    return table_lines("category", [row.name for row in rows], rows, _fields(whole), width, total=total)


def _fields(whole: Figures) -> list[Field]:
    fields = [
        Field("", "tasks", tasks_done, 90, state_style),
        Field("", "attempts", lambda row: f"{row.attempts:,}", 60),
        Field("", "run time", lambda row: format_duration(row.run_s) if row.attempts else NOTHING, 59),
    ]
    if whole.reused:
        fields.insert(1, Field("", "reused", lambda row: f"{row.reused:,}" if row.reused else NOTHING, 70))
    for resource, dear in (("memory_bytes", 50), ("cores", 30), ("disk_bytes", 20)):
        if whole.totals[resource].used_count:
            fields += _resource_fields(resource, dear)
    return fields


def _resource_fields(resource: str, dear: int) -> list[Field]:
    """Asked, used, waste and AWE of one resource. Wasted memory costs most, so that column is dropped last."""
    group = TITLES[resource]
    return [
        Field(group, "asked", lambda row: amount(resource, row.totals[resource].asked_mean), dear + 8),
        Field(group, "used", lambda row: amount(resource, row.totals[resource].used_mean), dear + 8),
        Field(group, "most", lambda row: most(resource, row), 12 if resource == "memory_bytes" else 1),
        Field(group, "waste", lambda row: waste(resource, row), dear + 6 if resource == "memory_bytes" else 2),
        Field(group, "AWE", lambda row: share(row.totals[resource].awe), dear + 7),
    ]


def tasks_done(row: Figures) -> str:
    """The number of tasks, or `3 of 5` if some have no result."""
    return f"{row.total:,}" if row.done == row.total else f"{row.done:,} of {row.total:,}"


def waste(resource: str, row: Figures) -> str:
    """The amount given and not used, times seconds."""
    totals = row.totals[resource]
    return held(resource, max(0.0, totals.wasted)) if totals.asked_count else NOTHING


def state_style(row: Figures) -> str:
    """The colour of a row's task count: red with failures, yellow if unfinished."""
    if row.failed or row.cut_off:
        return "red"
    return "" if row.done == row.total else "yellow"


def most(resource: str, row: Figures) -> str:
    """The highest use of any successful attempt."""
    totals = row.totals[resource]
    return amount(resource, totals.used_max if totals.used_count else None)
