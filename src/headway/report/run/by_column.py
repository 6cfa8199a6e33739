"""How far a run is, by a column of its sheet: a row for each value, such as a sample, and a cell for each category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from headway.model.task import Task
from headway.report.bars import fitted
from headway.report.columns import one_line
from headway.report.run.figures import STATES

Cell = Counter[str]  # number of tasks by state

# States in the order in which they need attention: mark, word and colour.
_MARKS = {
    "failed": ("✗", "failed", "bold red"),
    "running": ("▸", "running", "bold yellow"),
    "cut_off": ("-", "cut off", "red"),
    "waiting": ("·", "waiting", "bright_black"),
    "succeeded": ("✓", "done", "green"),
    "reused": ("↺", "reused", "blue"),
}
_DONE = ("succeeded", "reused")
_MOST = 30  # rows that are shown
_LONGEST_NAME, _LONGEST_TITLE = 32, 14
_GAP = 2


class ByColumn(Struct, frozen=True):
    """The states of tasks by the values of a column, and by category; `others` are tasks without that column."""

    column: str
    steps: list[str]  # the categories that have the column
    rows: dict[str, dict[str, Cell]]  # by value, in the order of the sheet, and by category
    others: dict[str, Cell]  # by category

    def document(self) -> dict[str, Any]:
        """Return what `headway status --by COLUMN --json` adds to the document of `status`."""
        totals = {step: sum((cells.get(step, Cell()) for cells in self.rows.values()), Cell()) for step in self.steps}
        return {
            "by": self.column,
            "rows": [
                {"value": value, "state": worst(cells.values()), "steps": _counts(cells)}
                for value, cells in self.rows.items()
            ],
            "totals": _counts(totals),
            "others": _counts(self.others),
        }


def _counts(cells: Mapping[str, Cell]) -> list[dict[str, Any]]:
    return [{"category": name, **cell} for name, cell in cells.items()]


def by_column(column: str, tasks: Iterable[Task], state_of: Callable[[str], str]) -> ByColumn:
    """Count tasks by their value of the column, their category, and their state, one of `STATES`."""
    rows: dict[str, dict[str, Cell]] = {}
    others: dict[str, Cell] = {}
    steps: dict[str, None] = {}
    for task in tasks:
        value = task.columns.get(column)
        if value is not None:
            steps[task.category] = None
        cells = others if value is None else rows.setdefault(value, {})
        cells.setdefault(task.category, Cell())[state_of(task.id)] += 1
    return ByColumn(column, list(steps), rows, others)


def worst(cells: Iterable[Cell]) -> str:
    """Return the state that needs most attention among all tasks of these cells."""
    present = {state for cell in cells for state in cell}
    return next((state for state in _MARKS if state in present), STATES[0])


def table_of(table: ByColumn, width: int) -> list[Text]:
    """Return the lines of the table: its rows, the rest of them in words, totals by category, and tasks without it.

    If there are too many rows, those that need attention come first. Columns that are too many for the width follow in
    a further table below.
    """
    ranks = {value: list(_MARKS).index(worst(cells.values())) for value, cells in table.rows.items()}
    values = list(table.rows)
    if len(values) > _MOST:
        values = sorted(values, key=ranks.__getitem__)[:_MOST]
    hidden = Counter(worst(table.rows[value].values()) for value in table.rows.keys() - set(values))
    present = [
        state for state in _MARKS if any(state in cell for cells in table.rows.values() for cell in cells.values())
    ]
    names = [_shortened(one_line(value)) or "(empty)" for value in values]
    labels = [f"{_MARKS[state][0]} {_MARKS[state][1]}" for state in present]
    name_cells = min(_LONGEST_NAME, max(map(cell_len, [table.column, *names, *labels])))
    columns = [_Column.of(table, step, values, present) for step in table.steps]
    lines: list[Text] = []
    for part in _parts(columns, width - name_cells):
        rule = Text("─" * (name_cells + sum(column.width + _GAP for column in part)), style="dim")
        lines += [Text()] if lines else []
        lines += [_line(Text(fitted(table.column, name_cells), "bold"), part, [column.title for column in part]), rule]
        for index, name in enumerate(names):
            lines.append(_line(Text(fitted(name, name_cells)), part, [column.cells[index] for column in part]))
        lines += [_rest(hidden)] if hidden else []
        lines.append(rule)
        for index, (state, label) in enumerate(zip(present, labels, strict=True)):
            title = Text(fitted(label, name_cells), _MARKS[state][2])
            lines.append(_line(title, part, [column.totals[index] for column in part]))
    return lines + _others(table.others)


class _Column(Struct, frozen=True):
    """The texts of one category."""

    title: Text
    cells: list[Text]
    totals: list[Text]  # by state
    width: int

    @classmethod
    def of(cls, table: ByColumn, step: str, values: Sequence[str], present: Sequence[str]) -> _Column:
        title = one_line(step)
        title = title if cell_len(title) <= _LONGEST_TITLE else fitted(title, _LONGEST_TITLE)
        cells = [_cell(table.rows[value].get(step)) for value in values]
        counted = sum((row.get(step, Cell()) for row in table.rows.values()), Cell())
        totals = [Text(f"{counted[state]:,}" if counted[state] else "") for state in present]
        return cls(Text(title), cells, totals, max(text.cell_len for text in (Text(title), *cells, *totals)))


def _shortened(name: str) -> str:
    """A long name without its middle: names of samples often begin alike."""
    return name if cell_len(name) <= _LONGEST_NAME else f"{name[:15]}…{name[-16:]}"


def _cell(cell: Cell | None) -> Text:
    """The mark of the state that needs most attention; of several tasks also how many are done."""
    if cell is None:
        return Text()
    mark, _, style = _MARKS[worst([cell])]
    done, total = sum(cell[state] for state in _DONE), cell.total()
    return Text(mark if total == 1 else f"{mark} {done:,}/{total:,}", style)


def _parts(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """Divide columns into groups that fit beside each other; one that is too wide stands alone."""
    parts: list[list[_Column]] = []
    left = 0
    for column in columns:
        left -= column.width + _GAP
        if left < 0 or not parts:
            parts.append([])
            left = width - column.width - _GAP
        parts[-1].append(column)
    return parts


def _line(name: Text, columns: Sequence[_Column], texts: Sequence[Text]) -> Text:
    line = name
    for column, text in zip(columns, texts, strict=True):
        line = Text.assemble(line, " " * (_GAP + column.width - text.cell_len), text)
    line.rstrip()
    return line


def _rest(hidden: Cell) -> Text:
    words = ", ".join(f"{hidden[state]:,} {_MARKS[state][1]}" for state in _MARKS if hidden[state])
    return Text(f"… {hidden.total():,} more: {words} (--json lists all)", style="dim")


def _others(others: dict[str, Cell]) -> list[Text]:
    """A line for each category without the column."""
    if not others:
        return []
    names = min(40, max(cell_len(one_line(name)) for name in others))
    lines = [Text()]
    for name, cell in others.items():
        words = [
            _MARKS[state][1] if cell.total() == 1 else f"{cell[state]:,} {_MARKS[state][1]}"
            for state in _MARKS
            if cell[state]
        ]
        mark, _, style = _MARKS[worst([cell])]
        lines.append(Text.assemble(fitted(one_line(name), names), "  ", (mark, style), f" {', '.join(words)}"))
    return lines
