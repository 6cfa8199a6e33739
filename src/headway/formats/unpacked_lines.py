"""Reads an untrusted text file line by line, decompressed if it is gzip, with limits on its size."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, cast

from headway.formats import unpacked
from headway.formats.safe_yaml import shown
from headway.model.errors import InputError
from headway.model.units import format_bytes

MAX_LINE_BYTES = 1_000_000
_GZIP = b"\x1f\x8b"


def unpacked_lines(path: Path) -> Iterator[str]:
    """The lines with their line ends; an InputError if the file is unreadable, not UTF-8, or too large."""
    where = shown(path)
    total = number = 0
    with unpacked.readable(path, where) as file:
        packed = file.read(2) == _GZIP or path.suffix.lower() == ".gz"
        file.seek(0)
        with closing(cast(BinaryIO, gzip.open(file)) if packed else file) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                total += len(line)
                yield _text(line, number, total, where)


def _text(line: bytes, number: int, total: int, where: str) -> str:
    place = f"{where}:{number}"
    if len(line) > MAX_LINE_BYTES:
        raise InputError(f"this line is longer than {format_bytes(MAX_LINE_BYTES)}", where=place)
    if total > unpacked.MAX_BYTES:
        raise InputError(
            f"this file is larger than {format_bytes(unpacked.MAX_BYTES)}", where=where, todo="split the log"
        )
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError:
        raise InputError("this is not text in UTF-8", where=place, todo="convert it, with iconv for example") from None
