"""The table at the end of a run: a line a category, as many columns as the screen has room for."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from headway.model.units import format_duration
from headway.report.figures import Figures
from headway.report.summary import RunSummary
from headway.report.words import NOTHING, amount, harmless, held, share

_TITLES = {"memory_bytes": "memory", "cores": "cores", "disk_bytes": "disk"}


class _Field(Struct, frozen=True):
    """A column: its two-line heading, what stands in it, and how dear it is (the dearest stay longest)."""

    group: str
    title: str
    value: Callable[[Figures], Text | str]
    dear: int


def end_table(summary: RunSummary, console: Console) -> Table:
    """Tasks, attempts, run time, asked against used, waste and AWE of each category, and of all."""
    rows = list(summary.categories.values())
    whole = summary.whole()
    fields = _fields(whole)
    while True:
        table = _table(fields, rows, whole)
        needed = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        if needed <= console.width or len(fields) <= 2:
            return table
        cheapest = min(field.dear for field in fields)
        fields = [field for field in fields if field.dear > cheapest]


def _fields(whole: Figures) -> list[_Field]:
    fields = [
        _Field("", "tasks", _tasks, 90),
        _Field("", "attempts", lambda row: f"{row.attempts:,}", 60),
        _Field("run", "time", lambda row: format_duration(row.run_s) if row.attempts else NOTHING, 59),
    ]
    if whole.reused:
        fields.insert(1, _Field("", "reused", lambda row: f"{row.reused:,}" if row.reused else NOTHING, 70))
    for resource, dear in (("memory_bytes", 50), ("cores", 30), ("disk_bytes", 10)):
        if whole.ledgers[resource].used_count:
            fields += _ledger_fields(resource, dear)
    return fields


def _ledger_fields(resource: str, dear: int) -> list[_Field]:
    """Asked, used, waste and AWE of one resource."""
    title = _TITLES[resource]
    fields = [
        _Field(title, "asked", lambda row: amount(resource, row.ledgers[resource].asked_mean), dear + 8),
        _Field(title, "used", lambda row: amount(resource, row.ledgers[resource].used_mean), dear + 8),
        _Field(title, "most", lambda row: _most(resource, row), dear - 9),
        _Field(title, "waste", lambda row: _waste(resource, row), dear - 5),
        _Field(title, "AWE", lambda row: _awe(resource, row), dear + 7),
    ]
    if resource == "memory_bytes":  # the waste that costs most stays, whatever else has to go
        fields[3] = _Field(title, "waste", lambda row: _waste(resource, row), dear + 6)
    return fields


def _table(fields: list[_Field], rows: list[Figures], whole: Figures) -> Table:
    columns = [Column(Text("\ncategory"), overflow="ellipsis", no_wrap=True, min_width=8)]
    group = None
    for field in fields:
        shown = field.group if field.group != group else ""
        group = field.group
        columns.append(Column(Text(f"{shown}\n{field.title}"), justify="right", no_wrap=True))
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold", show_edge=False)
    for row in rows:
        table.add_row(Text(harmless(row.name)), *(field.value(row) for field in fields))
    if len(rows) > 1:
        table.add_section()
        table.add_row(Text("all"), *(field.value(whole) for field in fields), style="bold")
    return table


def _tasks(row: Figures) -> Text | str:
    """The number of tasks; of how many, where some have no result."""
    if row.done == row.total:
        return f"{row.total:,}"
    return Text(f"{row.done:,} of {row.total:,}", style="red" if row.failed else "yellow")


def _most(resource: str, row: Figures) -> str:
    ledger = row.ledgers[resource]
    return amount(resource, ledger.used_max if ledger.used_count else None)


def _waste(resource: str, row: Figures) -> str:
    ledger = row.ledgers[resource]
    return held(resource, max(0.0, ledger.wasted)) if ledger.asked_count else NOTHING


def _awe(resource: str, row: Figures) -> Text | str:
    return share(row.ledgers[resource].awe)
