"""Rows of values from outside the workflow file: the lines of a sample sheet (CSV or TSV), or the names of files."""

from __future__ import annotations

import csv
import glob
import io
import operator
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct

from headway.formats.each import Each, Factor, Row
from headway.formats.fields import Reader, did_you_mean, has_control_character, is_number, short
from headway.formats.safe_yaml import decoded
from headway.model.errors import InputError

MAX_BYTES = 100_000_000
MAX_ROWS = 1_000_000
WILDCARD = re.compile(r"\{([^\W\d]\w*)\}")

_DELIMITERS = ("\t", ",", ";")
_CONDITION = re.compile(r"(==|!=|>=|<=|>|<)\s*(.*)")
_COMPARED = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


class Sheet(Struct, frozen=True):
    """Rows with their names; `file` and `lines` say where the rows stand, for errors."""

    file: str
    names: tuple[str, ...]
    rows: list[Row]
    lines: Sequence[int]

    def error(self, index: int, what: str, todo: str) -> InputError:
        """An error about a row."""
        return InputError(what, where=f"{self.file}:{self.lines[index]}" if self.lines else self.file, todo=todo)

    def filled(self, defaults: dict[str, str]) -> Sheet:
        """The sheet with `defaults` in empty cells and in columns that it does not have."""
        names = (*self.names, *(name for name in defaults if name not in self.names))
        inside = [defaults.get(name, "") for name in self.names]
        added = tuple(defaults[name] for name in names[len(self.names) :])
        rows = [(*(cell or other for cell, other in zip(row, inside, strict=True)), *added) for row in self.rows]
        return Sheet(self.file, names, rows, self.lines)

    def where(self, name: str, conditions: list[str]) -> Sheet:
        """The rows whose cell has one of these values, or for which a condition such as `>= 10` holds."""
        column, match = self.names.index(name), _CONDITION.fullmatch(conditions[0])
        if match is None or len(conditions) > 1:
            kept = [index for index, row in enumerate(self.rows) if row[column] in conditions]
        elif match[1] in ("==", "!="):
            kept = [index for index, row in enumerate(self.rows) if (row[column] == match[2]) == (match[1] == "==")]
        else:
            numbers = [self._number(index, row[column], name) for index, row in enumerate(self.rows)]
            holds, bound = _COMPARED[match[1]], float(match[2])
            kept = [index for index, number in enumerate(numbers) if holds(number, bound)]
        lines = [self.lines[index] for index in kept] if self.lines else []
        return Sheet(self.file, self.names, [self.rows[index] for index in kept], lines)

    def _number(self, index: int, cell: str, name: str) -> float:
        if not is_number(cell):
            todo = "write a number there, or give the column a 'default'"
            raise self.error(index, f"{name} is {short(cell)}, and 'where' compares numbers", todo)
        return float(cell)

    def factor(self, label: str | None) -> Factor:
        """The rows with labels: filled from the template `label`, or from the fewest first columns that differ."""
        labels: list[str] = []
        if label is not None:
            each = Each([Factor(self.names, self.rows, [])])
            labels = list(each.template(label).column(self.rows))
            twin = _first_twin(labels)
        else:
            for columns in range(1, len(self.names) + 1):
                labels = [",".join(row[:columns]) for row in self.rows]
                if len(set(labels)) == len(labels):
                    break
            twin = _first_twin(labels)
        if twin is not None:
            first = labels.index(labels[twin])
            what = f"this row and that of line {self.lines[first]}" if self.lines else "two rows"
            todo = "remove one" if label is None else "let 'id' name columns in which all rows differ"
            raise self.error(twin, f"{what} cannot be told apart: both are {short(labels[twin])}", todo)
        return Factor(self.names, self.rows, labels)


def _first_twin(labels: list[str]) -> int | None:
    """The index of a label that stands in an earlier place, too."""
    if len(set(labels)) == len(labels):
        return None
    last = {label: index for index, label in enumerate(labels)}
    return next(last[label] for index, label in enumerate(labels) if last[label] != index)


def read_condition(reader: Reader, line: int, texts: list[str], field: str) -> list[str]:
    """Check the values or the condition of one column under `where`."""
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if match and len(texts) > 1:
            raise reader.error(line, f"{field} lists the condition {short(text)}", "write just one condition")
        if match and match[1] in _COMPARED and not is_number(match[2]):
            raise reader.error(line, f"{field} is {short(text)}", f"write a number after {match[1]}")
    return texts


# --- a file with a table ---


def parse_sheet(data: bytes, file: str, *, may_be_empty: bool = False) -> Sheet:
    """Parse a table with names in its first line, separated by tabs, commas or semicolons; quotes as in CSV."""
    text = decoded(data, file)
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = next((mark for mark in _DELIMITERS if mark in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    names: list[str] = []
    rows: list[Row] = []
    lines: list[int] = []
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            if not names:
                names = row
                continue
            line = reader.line_num
            rows.append(_checked(row, len(names), f"{file}:{line}"))
            lines.append(line)
            if len(rows) > MAX_ROWS:
                raise InputError(f"the sheet has more than {MAX_ROWS:,} rows", where=file, todo="split it")
    except csv.Error as problem:
        todo = 'close the quotes, and write a quote inside quotes twice: "5"" disk"'
        raise InputError(f"this is not a table ({problem})", where=f"{file}:{reader.line_num}", todo=todo) from None
    if not rows and not may_be_empty:
        what = "the sheet has no rows below its first line" if names else "the sheet is empty"
        raise InputError(what, where=f"{file}:1", todo="write the names of the columns, and a line for each task")
    return _named(Sheet(file, tuple(names), rows, lines))


def _checked(row: list[str], width: int, where: str) -> Row:
    while len(row) > width and not row[-1]:
        row.pop()
    if len(row) != width:
        what = f"this row has {len(row)} cells, and the first line names {width} columns"
        raise InputError(what, where=where, todo="give it a cell for each column, and put cells with commas in quotes")
    if has_control_character("".join(row)):
        raise InputError("a cell holds a line break or control character", where=where, todo="remove it")
    return tuple(row)


def _named(sheet: Sheet) -> Sheet:
    """The sheet with names that can be placeholders: `Sample ID` becomes `Sample_ID`; empty columns are left out."""
    kept: dict[str, int] = {}
    for index, title in enumerate(sheet.names):
        name = re.sub(r"\W+", "_", title).strip("_")
        name = f"_{name}" if name[:1].isdigit() else name
        if not name and not any(row[index] for row in sheet.rows):
            continue
        if not name:
            what = f"column {index + 1} has {'no name' if not title else f'the name {short(title)}'}"
            raise InputError(what, where=f"{sheet.file}:1", todo="name it with letters")
        if name in kept:
            what = f"columns {kept[name] + 1} and {index + 1} are both called {name}"
            raise InputError(what, where=f"{sheet.file}:1", todo="rename one")
        kept[name] = index
    rows = sheet.rows
    if len(kept) < len(sheet.names):
        rows = [tuple(row[index] for index in kept.values()) for row in rows]
    return Sheet(sheet.file, tuple(kept), rows, sheet.lines)


# --- names of files ---


def name_pattern(pattern: str) -> re.Pattern[str]:
    """The regular expression of paths that fit a pattern with named wildcards; no wildcard matches a slash.

    >>> name_pattern("reads/{sample}_{read}.fq").fullmatch("reads/a_b_1.fq").groupdict()
    {'sample': 'a_b', 'read': '1'}
    """
    named: set[str] = set()

    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return {"*": "[^/]*", "?": "[^/]"}.get(match[0]) or re.escape(match[0])
        if name in named:
            return f"(?P={name})"
        named.add(name)
        return f"(?P<{name}>[^/]+)"

    return re.compile(re.sub(WILDCARD.pattern + r"|[^{]|\{", part, pattern))


def found_files(
    pattern: str,
    directory: Path,
    is_stray: Callable[[str], bool] = lambda path: False,
    temporary: Collection[str] = (),
) -> Sheet:
    """One row for each file name that fits: the texts that its wildcards stand for, in order.

    Files that an earlier run made (`is_stray`) do not count; `temporary` ones do, although they may be gone.
    """
    fits = name_pattern(pattern)
    stars = WILDCARD.sub("*", pattern.replace("[", "[[]"))
    paths = [path for path in glob.glob(stars, root_dir=directory) if not is_stray(path)]
    matches = [match for path in (*paths, *temporary) if (match := fits.fullmatch(path))]
    rows = sorted({match.groups() for match in matches if not any(map(has_control_character, match.groups()))})
    return Sheet(pattern, tuple(fits.groupindex), rows, [])


def known_column(reader: Reader, line: int, name: str, sheet: Sheet, field: str) -> str:
    """Check that the sheet has a column of this name."""
    if name not in sheet.names:
        todo = did_you_mean(name, sheet.names, "there are")
        raise reader.error(line, f"{field} names {short(name)}, which is no column of {sheet.file}", todo)
    return name
