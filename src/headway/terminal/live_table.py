"""`LiveTable`: a table whose rows change while a person reads it; the cursor stays on its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

Cell = str | Text


class Column(Struct, frozen=True):
    """A column; without a `width` it is as wide as its longest cell."""

    label: str
    width: int | None = None
    right: bool = False  # numbers


class Row(Struct, frozen=True):
    """A row, known by its key."""

    key: str
    cells: list[Cell]


class LiveTable(DataTable[Cell]):
    """Changes only the cells that differ, since drawing is what costs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Open", key_display="Enter")]

    def __init__(self, name: str) -> None:
        super().__init__(id=name, cursor_type="row", cursor_foreground_priority="renderable")
        self._shown: list[Row] = []
        self._columns_shown: list[Column] = []

    def show(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Show these rows instead of those that are shown."""
        if list(columns) != self._columns_shown:
            self.clear(columns=True)
            for number, column in enumerate(columns):
                self.add_column(self._aligned(column, column.label), width=column.width, key=str(number))
            self._columns_shown, self._shown = list(columns), []
        if [row.key for row in rows] == [row.key for row in self._shown]:
            for new, old in zip(rows, self._shown, strict=True):
                self._change(new, old)
        else:
            self._fill(rows)
        self._shown = list(rows)

    @property
    def chosen(self) -> str | None:
        """The key of the row with the cursor."""
        return self._shown[self.cursor_row].key if 0 <= self.cursor_row < len(self._shown) else None

    def _change(self, new: Row, old: Row) -> None:
        for number, (cell, before) in enumerate(zip(new.cells, old.cells, strict=True)):
            if cell != before:
                column = self._columns_shown[number]
                self.update_cell(new.key, str(number), self._aligned(column, cell), update_width=column.width is None)

    def _fill(self, rows: Sequence[Row]) -> None:
        chosen, at, scrolled = self.chosen, self.cursor_row, self.scroll_y
        self.clear()
        wraps = any(column.width is not None for column in self._columns_shown)
        for row in rows:
            cells = [self._aligned(column, cell) for column, cell in zip(self._columns_shown, row.cells, strict=True)]
            self.add_row(*cells, key=row.key, height=None if wraps else 1)
        keys = [row.key for row in rows]
        if keys:
            self.move_cursor(row=keys.index(chosen) if chosen in keys else min(at, len(keys) - 1), scroll=False)
            self.scroll_to(y=scrolled, animate=False)

    def _aligned(self, column: Column, cell: Cell) -> Text:
        text = Text(cell) if isinstance(cell, str) else cell.copy()
        text.justify = "right" if column.right else "left"
        return text
