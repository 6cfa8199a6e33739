"""Write files that are complete or not there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from headway.model.errors import InputError, SiteError


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Write a new file beside `path`, and move it there if all went well."""
    target = Path(os.path.realpath(path))  # a link stays a link
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
        unfinished.replace(target)
    except OSError as error:
        raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    finally:  # also after Ctrl-C
        with suppress(OSError):
            unfinished.unlink()


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Write all lines to a file, or none; compressed if its name ends in .gz."""
    with whole_file(path) as file:
        if path.suffix.lower() != ".gz":
            file.writelines(line.encode("utf-8", errors="replace") for line in lines)
            return
        from gzip import GzipFile

        # Without name and time in it: the same text makes the same file.
        with GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:
            cast(BinaryIO, packing).writelines(line.encode() for line in lines)


def refuse_to_overwrite(path: Path, todo: str) -> None:
    """Raise an `InputError` if the file exists."""
    if path.exists():
        raise InputError("this file exists", where=str(path), todo=todo)
