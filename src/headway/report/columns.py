"""Tables for the terminal that drop their least important columns when the screen is narrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from headway.report.bars import fitted
from headway.report.words import harmless

_NAME_AT_LEAST = 20  # cells for a row's name; with fewer, a column is dropped
_NAME_IF_NEED_BE = 12  # the same before an essential column is dropped
_NAME_AT_MOST = 40
_ESSENTIAL = 50  # columns from this importance on justify narrower gaps


class Field(Struct, frozen=True):
    """A column: its heading (group above title), the text of a row's cell, and its importance (`dear`).

    Columns with the smallest `dear` are dropped first.
    """

    group: str
    title: str
    value: Callable[[Any], str]
    dear: int = 0
    style: Callable[[Any], str] = lambda row: ""


def table_lines(
    heading: str, names: Sequence[str], rows: Sequence[Any], fields: Sequence[Field], width: int, *, total: bool
) -> list[Text]:
    """The lines of a table, at most `width` cells wide; with `total` the last row is set off as the total."""
    names = [one_line(name) for name in names]
    columns = [_column(field, rows) for field in fields]
    longest = max(len(heading), *(cell_len(name) for name in names)) if names else len(heading)
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
    lines = _heading(heading, columns, gaps, name_cells)
    for index, name in enumerate(names):
        is_total = total and index == len(names) - 1
        if is_total:
            lines.append(_rule(name_cells + gaps.needed(columns)))
        lines.append(_line(columns, gaps, fitted(name, name_cells), index, rows[index], is_total))
    return lines


def one_line(name: str) -> str:
    """The name as one line without control characters."""
    return " ".join(harmless(name).split("\n"))


class _Gaps(Struct, frozen=True):
    """The number of cells between columns of one group, and between groups."""

    within: int
    between: int

    def before(self, columns: Sequence[_Column]) -> list[int]:
        """The gap before each column."""
        last = [None, *(column.field.group for column in columns)]
        return [
            self.within if column.field.group and column.field.group == group else self.between
            for column, group in zip(columns, last, strict=False)
        ]

    def needed(self, columns: Sequence[_Column]) -> int:
        """The width of all columns and gaps together."""
        return sum(column.width for column in columns) + sum(self.before(columns))


_ROOMY, _TIGHT = _Gaps(2, 3), _Gaps(1, 2)


class _Column(Struct, frozen=True):
    """A field with the texts of its cells and their width."""

    field: Field
    texts: list[str]
    width: int


def _column(field: Field, rows: Sequence[Any]) -> _Column:
    texts = [field.value(row) for row in rows]
    return _Column(field, texts, max(len(field.title), *(cell_len(text) for text in texts), 0))


def _heading(heading: str, columns: Sequence[_Column], gaps: _Gaps, name_cells: int) -> list[Text]:
    """The heading: group names above their columns, column titles, a rule."""
    groups = Text(" " * name_cells)
    placed = list(zip(columns, gaps.before(columns), strict=True))
    for name, members in groupby(placed, key=lambda pair: pair[0].field.group):
        first, *others = members
        cells = first[0].width + sum(column.width + gap for column, gap in others)
        words = f" {name} ".center(cells, "─") if name and cells >= len(name) + 2 else name.center(cells)
        groups.append(" " * first[1]).append(words, style="dim" if name else "")
    titles = Text(heading.ljust(name_cells)[:name_cells], style="bold")
    for column, gap in placed:
        titles.append(" " * gap + column.field.title.rjust(column.width))
    has_groups = any(column.field.group for column in columns)
    return [*([groups] if has_groups else []), titles, _rule(name_cells + gaps.needed(columns))]


def _rule(cells: int) -> Text:
    return Text("─" * cells, style="dim")


def _line(columns: Sequence[_Column], gaps: _Gaps, name: str, index: int, row: Any, bold: bool) -> Text:
    line = Text(name, style="bold" if bold else "")
    for column, gap in zip(columns, gaps.before(columns), strict=True):
        cell = " " * (gap + column.width - cell_len(column.texts[index])) + column.texts[index]
        line.append(cell, style=column.field.style(row))
    return line
