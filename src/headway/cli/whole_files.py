"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import click

from headway.model.errors import SiteError


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """All of it or nothing: beside its place first, then moved there. Packed if the name ends in .gz."""
    place = Path(os.path.realpath(path))  # a link stays one
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.unfinished")
    try:
        try:
            with unfinished.open("xb") as file:
                _pour(lines, file, packed=path.suffix.lower() == ".gz")
            unfinished.replace(place)
        except OSError as error:
            raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    except BaseException:  # Ctrl-C, too
        with suppress(OSError):
            unfinished.unlink()
        raise
    click.echo(f"wrote {path}", err=True)


def _pour(lines: Iterable[str], file: BinaryIO, *, packed: bool) -> None:
    if not packed:
        file.writelines(line.encode("utf-8", errors="replace") for line in lines)
        return
    from gzip import GzipFile

    # Without name and time in it: the same schedule makes the same file.
    with GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:
        cast(BinaryIO, packing).writelines(line.encode() for line in lines)
