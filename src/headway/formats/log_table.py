"""`LogTable`: a log as a table with a header line; errors name file and line."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from headway.model.errors import InputError

MISSING = ("", "-")
_MOST = 2.0**62


class LogTable:
    """The rows of a delimited table whose first line names the columns."""

    def __init__(self, lines: Iterable[str], where: str, delimiter: str = ",") -> None:
        self._where = where
        self._reader = csv.reader(lines, delimiter=delimiter)
        header = next(self._rows(), [])
        self.columns = {name.strip(): place for place, name in enumerate(header)}
        self._width = len(header)

    def __iter__(self) -> Iterator[list[str]]:
        """The rows, without blank lines."""
        for row in self._rows():
            if len(row) != self._width:
                raise self.wrong(f"this line has {len(row)} fields, but the header has {self._width}")
            yield row

    def _rows(self) -> Iterator[list[str]]:
        try:
            yield from filter(None, self._reader)
        except csv.Error as problem:
            raise self.wrong(f"this is not a table ({problem})") from None

    @property
    def where(self) -> str:
        """File and line of the row read last."""
        return f"{self._where}:{self._reader.line_num}"

    def wrong(self, what: str) -> InputError:
        """An error about the row read last."""
        return InputError(what, where=self.where, todo="check that the file is complete and the log of a single run")

    def cell(self, row: list[str], column: str) -> str:
        """The text of a cell; empty if it is missing."""
        place = self.columns.get(column)
        text = "" if place is None else row[place].strip()
        return "" if text in MISSING else text

    def number(self, row: list[str], column: str) -> float | None:
        """The number in a cell; None if it is missing."""
        text = self.cell(row, column)
        return as_number(text, column, self.where) if text else None


def as_number(text: str, name: str, where: str) -> float:
    """Parse a number; an InputError names the column and the place."""
    try:
        number = float(text)
    except ValueError:
        number = _MOST
    if not -_MOST < number < _MOST:  # also true for NaN
        raise InputError(f"{name} is {text[:100]!r}, not a number", where=where)
    return number
