"""`Ledger`: the finished runs of a study, in a CSV file that a later study continues."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TextIO

from msgspec import ValidationError, convert, structs

from headway.model.errors import InputError, SiteError
from headway.studies.runs import Key, Row

_FIELDS = Row.__struct_fields__


class Ledger:
    """Rows by key. With a file, its rows are read first, and each new row is appended at once.

    An incomplete last line, left by a crash, is dropped. Rows of the plans in `again` are forgotten.
    """

    def __init__(self, path: Path | None, again: Collection[str] = ()) -> None:
        self.rows: dict[Key, Row] = {}
        self._path = path
        self._file: TextIO | None = None
        if path is not None:
            self._open(path, again)

    def _open(self, path: Path, again: Collection[str]) -> None:
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            whole = text[: text.rfind("\n") + 1]
            rows = _parsed(whole, path)
            self.rows = {row.key: row for row in rows if row.plan not in again}
            if whole != text or len(self.rows) < len(rows) or not whole:
                unfinished = path.with_name(f".{path.name}.unfinished")
                unfinished.write_text(_lines([_FIELDS, *map(structs.astuple, self.rows.values())]), encoding="utf-8")
                unfinished.replace(path)
            self._file = path.open("a", encoding="utf-8", newline="")
        except OSError as error:
            raise SiteError(f"cannot keep results here: {error.strerror}", where=str(path)) from error

    def add(self, row: Row) -> None:
        """Add a row; on return it is in the file."""
        self.rows[row.key] = row
        if self._file is not None:
            try:
                self._file.write(_lines([structs.astuple(row)]))
                self._file.flush()
            except OSError as error:
                raise SiteError(f"cannot keep results here: {error.strerror}", where=str(self._path)) from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def write_parquet(rows: Iterable[Row], path: Path) -> bool:
    """Write the rows as Parquet; return False, and write nothing, if pyarrow is not installed."""
    try:
        import pyarrow  # type: ignore[import-not-found,unused-ignore]
        import pyarrow.parquet  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return False
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([structs.asdict(row) for row in rows]), path)
    return True


def _lines(rows: Iterable[Iterable[object]]) -> str:
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(rows)
    return lines.getvalue()


def _parsed(text: str, path: Path) -> list[Row]:
    if not text:
        return []
    lines = csv.reader(io.StringIO(text))
    if next(lines) != list(_FIELDS):
        raise InputError(
            "these are results of another kind, or of another version",
            where=str(path),
            todo="name another folder, or move this file away",
        )
    found = []
    for number, fields in enumerate(lines, start=2):
        try:
            found.append(convert(dict(zip(_FIELDS, fields, strict=True)), Row, strict=False))
        except (ValidationError, ValueError) as error:
            raise InputError(
                f"this is no row of results: {error}", where=f"{path}:{number}", todo="delete the line: it is run again"
            ) from error
    return found
