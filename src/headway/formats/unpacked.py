"""The bytes of a file from elsewhere, unpacked if its name ends in `.gz`, and never more of them than will do."""

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

MAX_BYTES = 4_000_000_000  # unpacked: some ten million tasks
_BEST_PACKED = 1032  # no gzip file unpacks to more than this many times its size
_BLOCK = 1 << 20


def read_unpacked(path: Path) -> bytes:
    """The file's content; an InputError if it cannot be had, is not gzip although its name says so, or is too large."""
    where = shown(path)
    packed = path.suffix.lower() == ".gz"
    with readable(path, where) as file:
        if not packed:
            data = file.read(MAX_BYTES + 1)
        elif path.stat().st_size * _BEST_PACKED > MAX_BYTES and _unpacked_bytes(file) > MAX_BYTES:
            raise _too_large(where)  # counted without keeping any: a bomb shall not fill the memory first
        else:
            file.seek(0)
            with gzip.open(file) as unpacking:
                data = unpacking.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise _too_large(where)
    return data


def _unpacked_bytes(file: BinaryIO) -> int:
    """How much there is, counted no further than to the limit."""
    total = 0
    with gzip.open(file) as unpacking:
        while total <= MAX_BYTES and (block := unpacking.read(_BLOCK)):
            total += len(block)
    return total


def _too_large(where: str) -> InputError:
    return InputError(f"this file is larger than {format_bytes(MAX_BYTES)}", where=where, todo="split the workflow")


@contextmanager
def readable(path: Path, where: str) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError("this file does not exist", where=where, todo="check the name and the directory") from None
    except IsADirectoryError:
        raise InputError("this is a directory", where=where, todo="name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise InputError(
            f"this is not a whole gzip file ({problem})", where=where, todo="fetch it again, or drop .gz from its name"
        ) from None
    except MemoryError:
        raise InputError("this file does not fit into the memory", where=where) from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            f"this file cannot be read ({reason})", where=where, todo="check its name and permissions"
        ) from None
