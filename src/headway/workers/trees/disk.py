"""The disk space of a directory."""

from __future__ import annotations

import os

_BLOCK_BYTES = 512  # the unit of st_blocks on every file system


def directory_bytes(path: str) -> int:
    """Return the disk space of `path` and everything below it.

    Counts allocated blocks, not file lengths, since blocks fill the disk and the quota: only the written parts of a
    sparse file count, and a file of one byte counts as a whole block. A file with several hard links counts once.
    Symbolic links are not followed, other file systems mounted below are left out, and vanished entries are skipped.
    """
    try:
        top = os.stat(path)
    except OSError:
        return 0
    blocks = top.st_blocks
    linked: set[int] = set()
    waiting = [path]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_dev != top.st_dev or status.st_ino in linked:
                    continue
                blocks += status.st_blocks
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif status.st_nlink > 1:
                    linked.add(status.st_ino)
    return blocks * _BLOCK_BYTES
