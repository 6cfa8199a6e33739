"""Keeps and sorts the tasks of logs of any size: where they are many, they lie packed in a temporary file.

A task takes about 600 bytes of memory, and 25 in such a file.
"""

from __future__ import annotations

import heapq
import tempfile
import weakref
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from msgspec.msgpack import Decoder, Encoder

from headway.model.errors import SiteError
from headway.model.task_log import LoggedTask

IN_MEMORY = 100_000  # items; more of them are packed
_BLOCK = 256  # items that are packed together: many blocks are unpacked at once when sorted runs are merged
_FAST = 1  # level of compression
_FILE_FROM = 1 << 24  # bytes; what is smaller needs no file

Item = TypeVar("Item")


class Spool(Collection[Item]):
    """Items in the order in which they were given, packed; they can be read as often as needed.

    `kind` is their type: something that msgspec encodes.
    """

    def __init__(self, items: Iterable[Item], kind: Any) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_FILE_FROM)  # noqa: SIM115 closed with this object
        weakref.finalize(self, self._file.close)
        self._decoder: Decoder[list[Item]] = Decoder(list[kind])
        self._ends = array("q", [0])  # of the blocks, in the file
        self._count = 0
        encoder, rest = Encoder(), iter(items)
        while block := list(islice(rest, _BLOCK)):
            self._write(zlib.compress(encoder.encode(block), _FAST))
            self._count += len(block)

    def _write(self, packed: bytes) -> None:
        try:
            self._file.write(packed)
            self._file.flush()
        except OSError as problem:
            what = f"the log is large, and its tasks cannot be kept in a temporary file ({problem.strerror})"
            todo = "set TMPDIR to a directory with more space"
            raise SiteError(what, where=tempfile.gettempdir(), todo=todo) from None
        self._ends.append(self._ends[-1] + len(packed))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for begin, end in zip(self._ends, islice(self._ends, 1, None), strict=False):
            self._file.seek(begin)  # others may have read since
            yield from self._decoder.decode(zlib.decompress(self._file.read(end - begin)))

    def __contains__(self, item: object) -> bool:
        return any(item == each for each in self)


class Sorting(Generic[Item]):
    """Sorts tuples of one type, however many: those that do not fit in memory are sorted in parts, which are merged."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._parts: list[Spool[Item]] = []
        self._latest: list[Item] = []

    def add(self, item: Item) -> None:
        """Add an item."""
        self._latest.append(item)
        if len(self._latest) >= IN_MEMORY:
            self._latest.sort()
            self._parts.append(Spool(self._latest, self._kind))
            self._latest = []

    def __iter__(self) -> Iterator[Item]:
        self._latest.sort()
        return heapq.merge(*self._parts, self._latest)  # type: ignore[type-var]  # tuples are ordered


def kept(tasks: Iterable[LoggedTask]) -> Collection[LoggedTask]:
    """Return the tasks as a list, or in a `Spool` if they are many."""
    rest = iter(tasks)
    first = list(islice(rest, IN_MEMORY))
    return first if len(first) < IN_MEMORY else Spool(chain(first, rest), LoggedTask)
