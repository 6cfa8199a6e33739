"""How much disk a directory takes."""

from __future__ import annotations

import os

_BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's own is


def directory_bytes(path: str) -> int:
    """The space that everything below `path` takes on its disk.

    Allocated blocks, not lengths: they are what fills a disk and what quotas count. A sparse file counts as what was
    written of it, a file of one byte as a whole block. A file with several names counts once, a symbolic link is not
    followed, other file systems mounted below are left out. What vanishes while we look counts as it was found.
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
