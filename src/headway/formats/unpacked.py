"""Reads an untrusted file whole or line by line, decompressed if it is gzip, with limits on its size."""

from __future__ import annotations

import gzip
import os
import select
import stat
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from headway.formats.safe_yaml import shown
from headway.model.errors import InputError
from headway.model.limits import MOST_FILE_BYTES, MOST_LINE_BYTES, MOST_UNPACKED_RATIO, SMALL_FILE_BYTES
from headway.model.units import format_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_BYTES = MOST_FILE_BYTES
MAX_LINE_BYTES = MOST_LINE_BYTES
GZIP = b"\x1f\x8b"
_BEST_PACKED = 1032  # the highest compression ratio of gzip
_BLOCK = 1 << 20
WRITER_WAIT_S = 5.0  # how long a pipe may have no writer


def read_unpacked(path: Path, most: int | None = None, todo: str = "split the workflow") -> bytes:
    """The file's content; an InputError if it is unreadable, too large, or named `.gz` and not gzip.

    `most` is the most bytes, after decompressing; `todo` says what to do with a larger file.
    """
    where, most = shown(path), most or MAX_BYTES
    packed = path.suffix.lower() == ".gz"
    with readable(path, where) as file:
        if not packed:
            data = file.read(most + 1)  # read rather than ask for the size: a device or pipe has none
        else:
            most = min(most, _most_unpacked(file))
            # Counted without keeping the data first: a zip bomb must not fill the memory.
            if os.fstat(file.fileno()).st_size * _BEST_PACKED > most and _unpacked_bytes(file, most) > most:
                raise _too_large(most, where, todo)
            file.seek(0)
            with gzip.open(file) as unpacking:
                data = unpacking.read(most + 1)
    if len(data) > most:
        raise _too_large(most, where, todo)
    return data


def _most_unpacked(file: BinaryIO) -> int:
    """The most bytes that a packed file may hold."""
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        return MAX_BYTES  # a pipe: its size is not known
    return min(MAX_BYTES, max(SMALL_FILE_BYTES, MOST_UNPACKED_RATIO * about.st_size))


def _unpacked_bytes(file: BinaryIO, most: int) -> int:
    """The decompressed size, counted up to the limit."""
    total = 0
    with gzip.open(file) as unpacking:
        while total <= most and (block := unpacking.read(_BLOCK)):
            total += len(block)
    return total


def unpacked_lines(path: Path, where: str = "") -> Iterator[str]:
    """The lines with their line ends; an InputError if the file is unreadable, not UTF-8, or too large.

    `-` is standard input. `where` names the file in errors.
    """
    where = where or shown(path)
    total = number = 0
    with readable(path, where) as file:
        packed = cast(BufferedReader, file).peek(2)[:2] == GZIP or path.suffix.lower() == ".gz"
        most = _most_unpacked(file) if packed else MAX_BYTES
        with closing(cast(BinaryIO, gzip.open(file)) if packed else file) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                total += len(line)
                if len(line) > MAX_LINE_BYTES or total > most:
                    raise _too_long(line, f"{where}:{number}") or _too_large(most, where, "split the log")
                try:
                    yield line.decode("utf-8" if number > 1 else "utf-8-sig")
                except UnicodeDecodeError:
                    what, todo = "this is not text in UTF-8", "convert it, with iconv for example"
                    raise InputError(what, where=f"{where}:{number}", todo=todo) from None


def is_directory(path: Path) -> bool:
    """Whether `path` is a directory; False if that cannot be found out: to read it will say why."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


class _Pipe(FileIO):
    """A pipe, which is read until its writers have closed it, however slow they are.

    If no process opens the pipe for writing within some seconds, reading it is an InputError.
    """

    def __init__(self, path: Path) -> None:
        # Without O_NONBLOCK this would wait for a writer.
        super().__init__(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
        self._had_writer = False

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        """Read what there is into `buffer`, at least one byte before the end."""
        ready = select.poll()
        ready.register(self, select.POLLIN)
        while not (count := super().readinto(buffer)) and not (count == 0 and self._had_writer):
            # None: a writer has not written yet. 0: there is no writer.
            if not ready.poll(None if count is None else WRITER_WAIT_S * 1000):
                what = f"this is a pipe, and no process has opened it for writing within {WRITER_WAIT_S:g} s"
                todo = "name a file, or start the program that writes to the pipe"
                raise InputError(what, where=shown(Path(str(self.name))), todo=todo)
            self._had_writer = True
        self._had_writer = True
        return count


def opened(path: Path) -> BinaryIO:
    """Open a file or a pipe for reading; an InputError if it is a device, or a pipe without a writer."""
    mode = os.stat(path).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise InputError("this is a device", where=shown(path), todo="name a file")
    return BufferedReader(_Pipe(path)) if stat.S_ISFIFO(mode) else path.open("rb")


def _standard_input() -> BinaryIO:
    return os.fdopen(os.dup(0), "rb")


def _too_long(line: bytes, place: str) -> InputError | None:
    if len(line) <= MAX_LINE_BYTES:
        return None
    todo = "check that it is a log; `jq .` breaks the lines of JSON"
    return InputError(f"this line is longer than {format_bytes(MAX_LINE_BYTES)}", where=place, todo=todo)


def _too_large(most: int, where: str, todo: str) -> InputError:
    return InputError(
        f"this file is larger than {format_bytes(most)}, unpacked if it is packed", where=where, todo=todo
    )


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
        with opened(path) if path != Path("-") else _standard_input() as file:
            yield file
    except FileNotFoundError:
        raise InputError("this file does not exist", where=where, todo="check the name and the directory") from None
    except IsADirectoryError:
        raise InputError("this is a directory", where=where, todo="name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        what = f"this is not a complete gzip file ({problem})"
        raise InputError(what, where=where, todo="fetch it again, or remove .gz from its name") from None
    except MemoryError:
        raise InputError("this file does not fit into memory", where=where) from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        what = f"this file cannot be read ({getattr(problem, 'strerror', None) or problem})"
        raise InputError(what, where=where, todo="check its name and permissions") from None
