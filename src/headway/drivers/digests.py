"""Digests of files' contents, cached as long as size, modification time and inode stay the same."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path

_BLOCK_BYTES = 1 << 20
# A file that was written just before it was read may change again without a new modification time.
_TOO_FRESH_S = 2.0

_Stamp = tuple[int, int, int]  # size, modification time in ns, inode


class Digests:
    """Digests of files and directories; `cache` only saves time: without it all files are read again."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._known: dict[str, tuple[_Stamp, str]] = self._load()
        self._fresh: dict[str, tuple[_Stamp, str]] = {}

    def of(self, path: str | Path) -> tuple[str, int]:
        """Digest and size in bytes of a file, or of a directory with everything in it."""
        status = os.stat(path)
        if not stat.S_ISDIR(status.st_mode):
            return self._of_file(str(path), status)
        whole, size_bytes = hashlib.blake2b(digest_size=16), 0
        for name in _files_below(path):
            digest, file_bytes = self._of_file(name, os.stat(name))
            size_bytes += file_bytes
            whole.update(f"{os.path.relpath(name, path)}\0{digest}\0".encode(errors="surrogateescape"))
        return whole.hexdigest(), size_bytes

    def unread_bytes(self, path: Path) -> int:
        """How many bytes `of` would have to read; for a directory, where that is unknown, a huge number."""
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return 1 << 62
        known = self._known.get(str(path))
        return 0 if known and known[0] == _stamp(status) else status.st_size

    def _of_file(self, name: str, status: os.stat_result) -> tuple[str, int]:
        if not stat.S_ISREG(status.st_mode):  # a pipe or device has no content, and may never end
            return f"special-{stat.S_IFMT(status.st_mode):o}", 0
        stamp = _stamp(status)
        known = self._known.get(name)
        if known and known[0] == stamp:
            return known[1], status.st_size
        digest = hashlib.blake2b(digest_size=16)
        with open(name, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
        entry = (stamp, digest.hexdigest())
        self._known[name] = entry
        if time.time() - status.st_mtime > _TOO_FRESH_S:
            self._fresh[name] = entry
        return entry[1], status.st_size

    def _load(self) -> dict[str, tuple[_Stamp, str]]:
        if self._cache is None or not self._cache.exists():
            return {}
        try:
            with sqlite3.connect(self._cache) as database:
                rows = database.execute("SELECT path, size, modified_ns, inode, digest FROM digests").fetchall()
        except sqlite3.Error:
            return {}
        return {path: ((size, modified_ns, inode), digest) for path, size, modified_ns, inode, digest in rows}

    def save(self) -> None:
        """Write what was read to the cache, for the next run."""
        if self._cache is None or not self._fresh:
            return
        rows = [(path, *stamp, digest) for path, (stamp, digest) in list(self._fresh.items())]
        try:
            with sqlite3.connect(self._cache) as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS digests"
                    " (path TEXT PRIMARY KEY, size INTEGER, modified_ns INTEGER, inode INTEGER, digest TEXT)"
                )
                database.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?)", rows)
        except sqlite3.Error:
            return  # the next run reads the files again
        self._fresh.clear()


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _files_below(directory: str | Path) -> Iterator[str]:
    for folder, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.exists(path):  # not a dangling link
                yield path
