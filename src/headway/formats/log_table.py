"""`LogTable`: a log as a table with a header line; errors name file and line, and few bad rows are left out."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from operator import methodcaller
from typing import TypeVar

from headway.formats.log_amounts import bytes_of, moment_of, number_of, seconds_of
from headway.model.errors import InputError
from headway.model.limits import MOST_SECONDS, MOST_USED_BYTES

MISSING = ("", "-")
_SEPARATOR = "\x1f"  # stands for a delimiter of several characters, which the csv module does not know
_TOLERATED = 0.05  # share of rows that may be bad; a log with more of them is damaged, or not what it is taken for
_LONGEST_PLAIN = 15  # digits that need no check

Item = TypeVar("Item")


def begun(lines: Iterable[str]) -> tuple[str, Iterator[str]]:
    """The first line that is not blank, and an iterator over all lines."""
    ours = iter(lines)
    blank = 0  # counted, not kept: a file may have a million of them
    for line in ours:
        if not line.isspace():
            return line, chain(repeat("\n", blank), [line], ours)
        blank += 1
    return "", repeat("\n", blank)


class BadRows:
    """The rows of a log that cannot be used as they are."""

    def __init__(self) -> None:
        self.count = 0
        self.first: InputError | None = None

    def note(self, problem: InputError) -> None:
        """Note a bad row."""
        self.count += 1
        self.first = self.first or problem

    def complain(self, rows: int) -> None:
        """Raise the error about the first bad row if they are many; `rows` are all rows of the log."""
        if self.first and self.count > rows * _TOLERATED:
            raise self.first

    def said(self) -> str:
        """The sentence about the first bad row; empty if there is none."""
        return str(self.first or "")


class LogTable:
    """The rows of a delimited table whose first line names the columns.

    `rows` counts them, without blank lines and repeated headers (several logs in one file).
    """

    def __init__(self, lines: Iterable[str], where: str, delimiter: str = ",", *, quoted: bool = True) -> None:
        self._where = where
        if len(delimiter) > 1:
            lines = map(methodcaller("replace", delimiter, _SEPARATOR), lines)
        mark = delimiter if len(delimiter) == 1 else _SEPARATOR
        self._reader = csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
        self._header = next(self._raw(), [])
        self.columns = {name.strip(): place for place, name in enumerate(self._header)}
        self._units: dict[str, tuple[bool, str]] = {}  # by column: whether its amounts have one, and an example
        self.bad = BadRows()
        self.rows = 0
        self.mend: Callable[[list[str]], list[str]] | None = None  # tried on rows of another width

    def __iter__(self) -> Iterator[list[str]]:
        """The rows; an InputError for one of another width."""
        for row in self._raw():
            if row != self._header:
                self.rows += 1
                yield self._checked(row)

    def parsed(self, parse: Callable[[list[str]], Item]) -> Iterator[Item]:
        """What `parse` makes of each row. Few rows for which it raises an InputError are left out."""
        header, width = self._header, len(self._header)
        for row in self._raw():
            if row == header:
                continue
            self.rows += 1
            try:
                item = parse(row if len(row) == width else self._checked(row))
            except InputError as problem:
                self.bad.note(problem)
                continue
            yield item
        self.bad.complain(self.rows)

    def _checked(self, row: list[str]) -> list[str]:
        width = len(self._header)
        if self.mend and len(row) != width:
            row = self.mend(row)
        if len(row) != width:
            raise self.wrong(f"this line has {len(row)} fields, but the header has {width}")
        return row

    def _raw(self) -> Iterator[list[str]]:
        try:
            for row in self._reader:
                if len(row) > 1 or (row and not row[0].isspace()):
                    yield row
        except csv.Error as problem:
            raise self.wrong(f"this is not a table ({problem})") from None

    @property
    def where(self) -> str:
        """File and line of the row read last."""
        return f"{self._where}:{self._reader.line_num}"

    def wrong(
        self, what: str, todo: str = "check that the file is complete and no field contains the separator"
    ) -> InputError:
        """An error about the row read last."""
        return InputError(what, where=self.where, todo=todo)

    def cell(self, row: list[str], column: str) -> str:
        """The text of a cell; empty if it is missing."""
        place = self.columns.get(column)
        text = "" if place is None else row[place].strip()
        return "" if text in MISSING else text

    def number(self, row: list[str], column: str) -> float | None:
        """The number in a cell; None if it is missing."""
        text = self.cell(row, column)
        if text.isdecimal() and len(text) <= _LONGEST_PLAIN:
            return float(text)
        return number_of(text, column, self.where) if text else None

    def amount(self, row: list[str], column: str) -> float | None:
        """The number in a cell, which must not be negative; None if it is missing."""
        amount = self.number(row, column)
        if amount is not None and amount < 0:
            raise self.wrong(f"{column} is {amount:g}, which is negative", todo="")
        return amount

    def bytes(self, row: list[str], column: str, unit: float = 1.0) -> float | None:
        """An amount of memory; a number without a unit counts in units of `unit`."""
        text = self.cell(row, column)
        if not text:
            return None
        amount = float(text) * unit if text.isdecimal() else math.inf  # the common case, without a place for errors
        if amount > MOST_USED_BYTES:
            amount = bytes_of(text, column, self.where, unit)
        self._check_unit(text, column)
        return amount

    def seconds(self, row: list[str], column: str, unit: float = 1.0) -> float | None:
        """A duration; a number without a unit counts in units of `unit`."""
        text = self.cell(row, column)
        if not text:
            return None
        seconds = float(text) * unit if text.isdecimal() else math.inf
        if seconds > MOST_SECONDS:
            seconds = seconds_of(text, column, self.where, unit)
        self._check_unit(text, column)
        return seconds

    def moment(self, row: list[str], column: str, unit: float = 1.0) -> float | None:
        """Seconds since the epoch; a number without a date counts in units of `unit`."""
        text = self.cell(row, column)
        if text.isdecimal() and len(text) <= _LONGEST_PLAIN:
            return float(text) * unit
        return moment_of(text, column, self.where, unit) if text else None

    def _check_unit(self, text: str, column: str) -> None:
        """A column has numbers or amounts with a unit, not both: which unit a number has would be a guess."""
        if text == "0":
            return
        has_unit = text[-1].isalpha() or ":" in text
        known = self._units.setdefault(column, (has_unit, text))
        if known[0] != has_unit:
            raise self.wrong(
                f"{column} is {text!r} here and {known[1]!r} above: one has a unit, the other has none",
                todo="write all amounts of a column the same way",
            )
