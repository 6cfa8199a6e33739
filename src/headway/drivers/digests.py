"""Digests of files' contents, cached as long as a file's inode, size and times stay the same."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from headway.model.outcome import Stamp
from headway.workers.contents import (
    EXECUTABLE,
    content_digest,
    directory_digest,
    files_below,
    in_order,
    special_digest,
    stamp,
    with_mode,
)

# A file that changed just before it was read may change again without a new change time.
_TOO_FRESH_S = 2.0
_TICK_S = 0.05  # the clock of a file system with fractions of seconds; Linux counts at most 10 ms together
_MOST_READINGS = 3  # of a file that changes while it is read

# Size, modification time in ns, change time in ns, inode.
# An edit that restores the modification time sets the change time.
_Stamp = tuple[int, int, int, int]
_COLUMNS = ("path", "size", "modified_ns", "changed_ns", "inode", "digest")


class Digests:
    """Digests of files and directories; `cache` only saves time: without it all files are read again."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._fresh: dict[str, tuple[_Stamp, str]] = {}
        self._made: dict[str, tuple[_Stamp, str]] = {}  # outputs, which were read before they were put into place

    @cached_property
    def _known(self) -> dict[str, tuple[_Stamp, str]]:
        """What is known of files, by path; read from the cache when the first file is asked about."""
        return self._load()

    def of(self, path: str | Path) -> tuple[str, int]:
        """Digest and size in bytes of a file, or of a directory with everything in it."""
        status = os.stat(path)
        if not stat.S_ISDIR(status.st_mode):
            return self._of_file(str(path), status)
        return self.of_files(path, [path])

    def of_files(self, directory: str | Path, parts: Iterable[str | Path]) -> tuple[str, int]:
        """Digest and size in bytes of a directory that holds only these files, and all files of these directories."""
        names = [name for part in parts for name in (files_below(part) if os.path.isdir(part) else [str(part)])]
        names.sort(key=in_order)
        if not names or names == [str(directory)]:
            return special_digest(os.stat(directory)), 0
        digests: list[tuple[str, str]] = []
        size_bytes = 0
        for name in names:
            digest, file_bytes = self._of_file(name, os.stat(name))
            size_bytes += file_bytes
            digests.append((os.path.relpath(name, directory), digest))
        return directory_digest(digests), size_bytes

    def unread_bytes(self, path: str | Path) -> int:
        """How many bytes `of` would have to read; for a directory, where that is unknown, a huge number."""
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return 1 << 62
        return 0 if self._digest_of(str(path), status) else status.st_size

    def remember(self, path: str | Path, made: Stamp) -> None:
        """Take the digests of an output, which were read before it was put into place, unless it looks otherwise now.

        Then no later run reads it only to see whether it is still what was made.
        """
        with suppress(OSError):
            if not made.digest or not stamp(path).is_as(made):
                return
            for name, digest in (made.inside or {".": made.digest}).items():
                file = os.path.normpath(os.path.join(path, name))
                status = os.stat(file)
                if stat.S_ISREG(status.st_mode):
                    self._made[file] = (_stamp(status), digest.removesuffix(EXECUTABLE))

    def _of_file(self, name: str, status: os.stat_result) -> tuple[str, int]:
        if not stat.S_ISREG(status.st_mode):
            return special_digest(status), 0
        if known := self._digest_of(name, status):
            return with_mode(known, status), status.st_size
        for _ in range(_MOST_READINGS):
            with open(name, "rb") as file:
                before = os.fstat(file.fileno())
                digest = content_digest(file)
                after = os.fstat(file.fileno())
            if _stamp(before) == _stamp(after):
                self._known[name] = (_stamp(before), digest)
                if time.time() - before.st_ctime > _TOO_FRESH_S:
                    self._fresh[name] = self._known[name]
                break
        return with_mode(digest, after), after.st_size

    def _digest_of(self, name: str, status: os.stat_result) -> str:
        """Return the digest of a file's content if the file has not changed since that was read; otherwise nothing."""
        seen = _stamp(status)
        for known in (self._known.get(name), self._made.get(name)):
            if known is not None and known[0] == seen:
                return known[1]
        return ""

    def _load(self) -> dict[str, tuple[_Stamp, str]]:
        if self._cache is None or not self._cache.exists():
            return {}
        try:
            with sqlite3.connect(self._cache) as database:
                rows = database.execute(
                    "SELECT path, size, modified_ns, changed_ns, inode, digest FROM digests"
                ).fetchall()
        except sqlite3.Error:  # also the table of an earlier version
            return {}
        return {
            path: ((size, modified_ns, changed_ns, inode), digest)
            for path, size, modified_ns, changed_ns, inode, digest in rows
        }

    def save(self) -> None:
        """Write what was read to the cache, for the next run."""
        for name, (seen, digest) in self._made.items():
            with suppress(OSError):
                status = os.stat(name)
                if _stamp(status) == seen and _is_settled(status):
                    self._fresh[name] = (seen, digest)
        if self._cache is None or not self._fresh:
            return
        rows = [(path, *stamp, digest) for path, (stamp, digest) in list(self._fresh.items())]
        try:
            with sqlite3.connect(self._cache) as database:
                self._cache.chmod(0o600)
                columns = tuple(row[1] for row in database.execute("PRAGMA table_info(digests)"))
                if columns != _COLUMNS:  # there is none, or an earlier version made it
                    database.execute("DROP TABLE IF EXISTS digests")
                    database.execute(
                        "CREATE TABLE digests (path TEXT PRIMARY KEY, size INTEGER, modified_ns INTEGER,"
                        " changed_ns INTEGER, inode INTEGER, digest TEXT)"
                    )
                database.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.Error:
            return  # the next run reads the files again
        self._fresh.clear()


def _is_settled(status: os.stat_result) -> bool:
    """Whether a later change of a file that was just put into place would have another change time."""
    tick_s = _TICK_S if status.st_ctime_ns % 1_000_000_000 else _TOO_FRESH_S
    return time.time() - status.st_ctime > tick_s


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
