"""Reads an untrusted file, decompressed if its name ends in `.gz`, with a limit on its size."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from headway.formats.safe_yaml import shown
from headway.model.errors import InputError
from headway.model.units import format_bytes

MAX_BYTES = 4_000_000_000  # decompressed: about ten million tasks
_BEST_PACKED = 1032  # the highest compression ratio of gzip
_BLOCK = 1 << 20


def read_unpacked(path: Path) -> bytes:
    """The file's content; an InputError if it is unreadable, too large, or named `.gz` and not gzip."""
    where = shown(path)
    packed = path.suffix.lower() == ".gz"
    with readable(path, where) as file:
        if not packed:
            data = file.read(MAX_BYTES + 1)
        elif path.stat().st_size * _BEST_PACKED > MAX_BYTES and _unpacked_bytes(file) > MAX_BYTES:
            raise _too_large(where)  # counted without keeping the data: a zip bomb must not fill the memory
        else:
            file.seek(0)
            with gzip.open(file) as unpacking:
                data = unpacking.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _too_large(where)
    return data


def _unpacked_bytes(file: BinaryIO) -> int:
    """The decompressed size, counted up to the limit."""
    total = 0
    with gzip.open(file) as unpacking:
        while total <= MAX_BYTES and (block := unpacking.read(_BLOCK)):
            total += len(block)
    return total


def _too_large(where: str) -> InputError:
    return InputError(f"this file is larger than {format_bytes(MAX_BYTES)}", where=where, todo="split the workflow")


def stem(path: Path, *endings: str) -> str:
    """The file's name without these endings, removed in this order."""
    name = path.name
    for ending in endings:
        name = name.removesuffix(ending) or name
    return name


@contextmanager
def readable(path: Path, where: str) -> Iterator[BinaryIO]:
    """Open a file for reading; errors in the `with` block become InputErrors that name `where`."""
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError("this file does not exist", where=where, todo="check the name and the directory") from None
    except IsADirectoryError:
        raise InputError("this is a directory", where=where, todo="name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise InputError(
            f"this is not a complete gzip file ({problem})",
            where=where,
            todo="fetch it again, or remove .gz from its name",
        ) from None
    except MemoryError:
        raise InputError("this file does not fit into memory", where=where) from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            f"this file cannot be read ({reason})", where=where, todo="check its name and permissions"
        ) from None
