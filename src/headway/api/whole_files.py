"""Output files: checked before the work, and written so that a file is either complete or absent."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from headway.model.errors import InputError, SiteError


def check_target(path: Path, *, force: bool, folder: bool = True) -> None:
    """Raise InputError if `path` cannot be written: before hours of work, not after.

    With `folder=False` a missing folder is left to `write_whole` to report.
    """
    if path.is_dir():
        raise InputError("this is a directory", where=str(path), todo="name a file in it")
    if path.exists() and not force:
        raise InputError("this file exists", where=str(path), todo="--force overwrites it")
    if folder and not path.parent.is_dir():
        raise InputError("there is no such folder", where=str(path.parent), todo="make it, or name another FILE")


def check_distinct(targets: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise InputError if two of the files are one, also through links."""
    outputs = list(targets)
    names = [os.path.realpath(path) for path in (*outputs, *inputs)]
    if outputs and len(set(names)) < len(names):
        raise InputError("two of the files are the same", where=str(outputs[0]), todo="name another FILE")


def write_whole(path: Path, parts: Iterable[str | bytes], *, mode: int = 0o666, compressed: bool | None = None) -> None:
    """Write to a temporary file, then rename it.

    By default a file whose name ends in .gz is compressed, the same content to the same bytes.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        try:
            with open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                _pour(parts, file, compressed=path.suffix.lower() == ".gz" if compressed is None else compressed)
            unfinished.replace(target)
        except OSError as error:
            raise SiteError(f"cannot write this: {error.strerror}", where=str(path)) from error
    except BaseException:  # Ctrl-C, too
        with suppress(OSError):
            unfinished.unlink()
        raise


def _pour(parts: Iterable[str | bytes], file: BinaryIO, *, compressed: bool) -> None:
    encoded = (part if isinstance(part, bytes) else part.encode("utf-8", errors="replace") for part in parts)
    if not compressed:
        file.writelines(encoded)
        return
    from gzip import GzipFile

    with GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:  # no name and time inside
        cast(BinaryIO, packing).writelines(encoded)
