"""Says which tasks take most of a disk that is full."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from headway.model.units import format_bytes

_LITTLE_BYTES = 1 << 20
_MOST_NAMED = 3
_LEAST_SHARE = 0.1  # of what the largest takes


def is_full(path: Path) -> bool:
    """Whether there is hardly room for another file on the disk of `path`."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return False
    blocks = disk.f_bavail if os.geteuid() else disk.f_bfree  # some are reserved for root
    return blocks * disk.f_frsize < _LITTLE_BYTES


def largest_tasks(folders: Mapping[str, Path]) -> str:
    """Return the tasks whose folders take most of the disk, and how much; empty if none of them takes anything."""
    from headway.workers.trees.slow_measurements import directory_bytes  # few runs fill a disk

    sizes = {task: directory_bytes(str(folder)) for task, folder in folders.items()}
    least = max(1, _LEAST_SHARE * max(sizes.values(), default=0))
    named = sorted((task for task in sizes if sizes[task] >= least), key=lambda task: -sizes[task])[:_MOST_NAMED]
    return ", ".join(f"{task} ({format_bytes(sizes[task])})" for task in named)
