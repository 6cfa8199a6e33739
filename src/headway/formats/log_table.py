"""A table with a header line, as logs come in: rows, and numbers out of them that complain with file and line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from headway.model.errors import InputError

MISSING = ("", "-")
_MOST = 2.0**62


class LogTable:
    """The rows of a table whose first line names the columns."""

    def __init__(self, lines: Iterable[str], where: str, delimiter: str = ",") -> None:
        self._where = where
        self._reader = csv.reader(lines, delimiter=delimiter)
        header = next(self._rows(), [])
        self.columns = {name.strip(): place for place, name in enumerate(header)}
        self._width = len(header)

    def __iter__(self) -> Iterator[list[str]]:
        """Row by row; blank lines are passed over."""
        for row in self._rows():
            if len(row) != self._width:
                raise self.wrong(f"this line has {len(row)} fields, and the header {self._width}")
            yield row

    def _rows(self) -> Iterator[list[str]]:
        try:
            yield from filter(None, self._reader)
        except csv.Error as problem:
            raise self.wrong(f"this is not a table ({problem})") from None

    @property
    def where(self) -> str:
        """File and line of the row that was read last."""
        return f"{self._where}:{self._reader.line_num}"

    def wrong(self, what: str) -> InputError:
        """The complaint about the row that was read last."""
        return InputError(what, where=self.where, todo="is the file whole, and the log of one run?")

    def cell(self, row: list[str], column: str) -> str:
        """What stands there; nothing if it is missing."""
        place = self.columns.get(column)
        text = "" if place is None else row[place].strip()
        return "" if text in MISSING else text

    def number(self, row: list[str], column: str) -> float | None:
        """The number that stands there; None if it is missing."""
        text = self.cell(row, column)
        return as_number(text, column, self.where) if text else None


def as_number(text: str, name: str, where: str) -> float:
    """The number that `text` is."""
    try:
        number = float(text)
    except ValueError:
        number = _MOST
    if not -_MOST < number < _MOST:  # also not a number at all
        raise InputError(f"{name} is {text[:100]!r}, not a number", where=where)
    return number
