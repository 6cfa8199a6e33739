"""The table at the end of a run: a line a category, as many columns as the screen has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from headway.model.units import format_duration
from headway.report.bars import fitted
from headway.report.figures import Figures
from headway.report.summary import RunSummary
from headway.report.words import NOTHING, amount, harmless, held, share

_TITLES = {"memory_bytes": "memory", "cores": "cores", "disk_bytes": "disk"}
_NAME_AT_LEAST = 12  # cells for a category's name, before a column has to go
_NAME_AT_MOST = 40
_BETWEEN = 2  # cells between groups of columns; one within a group


class _Field(Struct, frozen=True):
    """A column: its two-line heading, what stands in it, and how dear it is (the dearest stay longest)."""

    group: str
    title: str
    value: Callable[[Figures], str]
    dear: int


class _Column(Struct, frozen=True):
    """A field with its texts and how wide they are."""

    field: _Field
    texts: list[str]
    width: int


def end_table(summary: RunSummary, width: int) -> list[Text]:
    """Tasks, attempts, run time, asked against used, waste and AWE of each category, and of all."""
    rows = list(summary.categories.values())
    whole = summary.whole()
    names = [harmless(row.name) for row in rows]
    if len(rows) > 1:
        rows, names = [*rows, whole], [*names, "all"]
    columns = [_column(field, rows) for field in _fields(whole)]
    longest = max(len("category"), *(cell_len(name) for name in names))
    while len(columns) > 1 and width - _needed(columns) < min(longest, _NAME_AT_LEAST):
        cheapest = min(column.field.dear for column in columns)
        columns = [column for column in columns if column.field.dear > cheapest]
    name_cells = max(4, min(longest, _NAME_AT_MOST, width - _needed(columns)))
    lines = _heading(columns, name_cells)
    for index, (row, name) in enumerate(zip(rows, names, strict=True)):
        if row is whole and len(rows) > 1:
            lines.append(_rule(columns, name_cells))
        lines.append(_line(columns, fitted(name, name_cells), index, _style(row), bold=row is whole))
    return lines


# --- what stands in the columns ---


def _fields(whole: Figures) -> list[_Field]:
    fields = [
        _Field("", "tasks", _tasks, 90),
        _Field("", "attempts", lambda row: f"{row.attempts:,}", 60),
        _Field("", "run time", lambda row: format_duration(row.run_s) if row.attempts else NOTHING, 59),
    ]
    if whole.reused:
        fields.insert(1, _Field("", "reused", lambda row: f"{row.reused:,}" if row.reused else NOTHING, 70))
    for resource, dear in (("memory_bytes", 50), ("cores", 30), ("disk_bytes", 20)):
        if whole.ledgers[resource].used_count:
            fields += _ledger_fields(resource, dear)
    return fields


def _ledger_fields(resource: str, dear: int) -> list[_Field]:
    """Asked, used, waste and AWE of one resource. Memory's waste costs most: it stays, whatever else has to go."""
    group = _TITLES[resource]
    return [
        _Field(group, "asked", lambda row: amount(resource, row.ledgers[resource].asked_mean), dear + 8),
        _Field(group, "used", lambda row: amount(resource, row.ledgers[resource].used_mean), dear + 8),
        _Field(group, "most", lambda row: _most(resource, row), 12 if resource == "memory_bytes" else 1),
        _Field(group, "waste", lambda row: _waste(resource, row), dear + 6 if resource == "memory_bytes" else 2),
        _Field(group, "AWE", lambda row: share(row.ledgers[resource].awe), dear + 7),
    ]


def _tasks(row: Figures) -> str:
    """The number of tasks; of how many, where some have no result."""
    return f"{row.total:,}" if row.done == row.total else f"{row.done:,} of {row.total:,}"


def _most(resource: str, row: Figures) -> str:
    ledger = row.ledgers[resource]
    return amount(resource, ledger.used_max if ledger.used_count else None)


def _waste(resource: str, row: Figures) -> str:
    ledger = row.ledgers[resource]
    return held(resource, max(0.0, ledger.wasted)) if ledger.asked_count else NOTHING


def _style(row: Figures) -> str:
    if row.failed or row.cut_off:
        return "red"
    return "" if row.done == row.total else "yellow"


# --- how they are laid out ---


def _column(field: _Field, rows: Sequence[Figures]) -> _Column:
    texts = [field.value(row) for row in rows]
    return _Column(field, texts, max(len(field.title), *(cell_len(text) for text in texts)))


def _gaps(columns: Sequence[_Column]) -> list[int]:
    """The cells before each column."""
    before = [None, *(column.field.group for column in columns)]
    return [
        1 if column.field.group and column.field.group == last else _BETWEEN
        for column, last in zip(columns, before, strict=False)
    ]


def _needed(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + sum(_gaps(columns))


def _heading(columns: Sequence[_Column], name_cells: int) -> list[Text]:
    """Groups above their columns, titles, a rule."""
    groups = Text(" " * name_cells)
    placed = list(zip(columns, _gaps(columns), strict=True))
    for name, members in groupby(placed, key=lambda pair: pair[0].field.group):
        first, *others = members
        cells = first[0].width + sum(column.width + gap for column, gap in others)
        words = f" {name} ".center(cells, "─") if name and cells >= len(name) + 2 else name.center(cells)
        groups.append(" " * first[1]).append(words, style="dim" if name else "")
    titles = Text("category".ljust(name_cells)[:name_cells], style="bold")
    for column, gap in placed:
        titles.append(" " * gap + column.field.title.rjust(column.width))
    has_groups = any(column.field.group for column in columns)
    return [*([groups] if has_groups else []), titles, _rule(columns, name_cells)]


def _rule(columns: Sequence[_Column], name_cells: int) -> Text:
    return Text("─" * (name_cells + _needed(columns)), style="dim")


def _line(columns: Sequence[_Column], name: str, index: int, style: str, *, bold: bool) -> Text:
    line = Text(name, style="bold" if bold else "")
    for column, gap in zip(columns, _gaps(columns), strict=True):
        cell = " " * (gap + column.width - cell_len(column.texts[index])) + column.texts[index]
        line.append(cell, style=style if column.field.title == "tasks" else "")
    return line
