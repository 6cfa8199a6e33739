"""Rows of figures as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headway.report.columns import one_line


def csv_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line with the names of the columns, then a line for each row; all rows have the same columns."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for number, row in enumerate(rows):
        if not number:
            writer.writerow(row)
        writer.writerow(one_line(value) if isinstance(value, str) else value for value in row.values())
        yield line.getvalue()
        line.seek(0)
        line.truncate()
