"""Observations as a file for other programs: JSON lines, or a table for spreadsheets."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from headway.history.base import Kept
from headway.model.errors import InputError, SiteError
from headway.report.columns import one_line
from headway.report.history.document import observation_document, observation_row


def export(kept: Iterable[Kept], output: Path | None, *, force: bool) -> int:
    """Write to a file, all of it or nothing, or to standard output; returns how many there were."""
    if output is None:
        written = _json_lines(kept, sys.stdout)
        sys.stdout.flush()
        return written
    if output.exists() and not force:
        raise InputError("this file exists", where=str(output), todo="--force overwrites it")
    write = _csv if output.suffix.lower() == ".csv" else _json_lines
    beside = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with beside.open("x", encoding="utf-8", errors="replace", newline="") as file:
            written = write(kept, file)
        beside.replace(output)
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(output)) from error
    finally:
        beside.unlink(missing_ok=True)
    return written


def _json_lines(kept: Iterable[Kept], file: IO[str]) -> int:
    written = 0
    for each in kept:
        file.write(json.dumps(observation_document(each), ensure_ascii=False) + "\n")
        written += 1
    return written


def _csv(kept: Iterable[Kept], file: IO[str]) -> int:
    writer = csv.writer(file, lineterminator="\n")
    written = 0
    for each in kept:
        row = observation_row(each)
        if not written:
            writer.writerow(row)
        writer.writerow(one_line(value) if isinstance(value, str) else value for value in row.values())
        written += 1
    return written
