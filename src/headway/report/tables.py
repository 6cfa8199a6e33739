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
_NAME_AT_LEAST = 20  # cells for a category's name before a column has to go,
_NAME_IF_NEED_BE = 12  # or an essential one
_NAME_AT_MOST = 40
_ESSENTIAL = 50  # how dear a column must be to be worth narrow gaps


class _Field(Struct, frozen=True):
    """A column: its two-line heading, what stands in it, and how dear it is (the dearest stay longest)."""

    group: str
    title: str
    value: Callable[[Figures], str]
    dear: int


class _Gaps(Struct, frozen=True):
    """Cells between columns of one group, and between groups."""

    within: int
    between: int

    def before(self, columns: Sequence[_Column]) -> list[int]:
        """The cells before each column."""
        last = [None, *(column.field.group for column in columns)]
        return [
            self.within if column.field.group and column.field.group == group else self.between
            for column, group in zip(columns, last, strict=False)
        ]

    def needed(self, columns: Sequence[_Column]) -> int:
        """How wide all columns are together."""
        return sum(column.width for column in columns) + sum(self.before(columns))


_ROOMY, _TIGHT = _Gaps(2, 3), _Gaps(1, 2)


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
    gaps = _ROOMY
    while len(columns) > 1:
        cheapest = min(column.field.dear for column in columns)
        name_at_least = min(longest, _NAME_IF_NEED_BE if cheapest >= _ESSENTIAL else _NAME_AT_LEAST)
        if width - gaps.needed(columns) >= name_at_least:
            break
        if cheapest >= _ESSENTIAL and gaps is _ROOMY:
            gaps = _TIGHT
        else:
            columns = [column for column in columns if column.field.dear > cheapest]
    name_cells = max(4, min(longest, _NAME_AT_MOST, width - gaps.needed(columns)))
    lines = _heading(columns, gaps, name_cells)
    for index, (row, name) in enumerate(zip(rows, names, strict=True)):
        if row is whole and len(rows) > 1:
            lines.append(_rule(name_cells + gaps.needed(columns)))
        lines.append(_line(columns, gaps, fitted(name, name_cells), index, row is whole, _style(row)))
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


def _heading(columns: Sequence[_Column], gaps: _Gaps, name_cells: int) -> list[Text]:
    """Groups above their columns, titles, a rule."""
    groups = Text(" " * name_cells)
    placed = list(zip(columns, gaps.before(columns), strict=True))
    for name, members in groupby(placed, key=lambda pair: pair[0].field.group):
        first, *others = members
        cells = first[0].width + sum(column.width + gap for column, gap in others)
        words = f" {name} ".center(cells, "─") if name and cells >= len(name) + 2 else name.center(cells)
        groups.append(" " * first[1]).append(words, style="dim" if name else "")
    titles = Text("category".ljust(name_cells)[:name_cells], style="bold")
    for column, gap in placed:
        titles.append(" " * gap + column.field.title.rjust(column.width))
    has_groups = any(column.field.group for column in columns)
    return [*([groups] if has_groups else []), titles, _rule(name_cells + gaps.needed(columns))]


def _rule(cells: int) -> Text:
    return Text("─" * cells, style="dim")


def _line(columns: Sequence[_Column], gaps: _Gaps, name: str, index: int, bold: bool, style: str) -> Text:
    line = Text(name, style="bold" if bold else "")
    for column, gap in zip(columns, gaps.before(columns), strict=True):
        cell = " " * (gap + column.width - cell_len(column.texts[index])) + column.texts[index]
        line.append(cell, style=style if column.field.title == "tasks" else "")
    return line
