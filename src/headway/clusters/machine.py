"""The cores, memory and disk of this machine, as far as this process may use them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from headway.model.errors import InputError, SiteError
from headway.model.resources import Resources, describe

_NO_LIMIT = 2**60  # cgroup v1 writes "no limit" as a huge number


def machine(directory: Path) -> Resources:
    """This machine's resources, with the free disk of the file system that holds `directory`."""
    return Resources(cores=_cores(), memory_bytes=_memory_bytes(), disk_bytes=free_disk_bytes(directory))


def free_disk_bytes(directory: Path) -> int:
    """The free disk of the file system that holds `directory`."""
    try:
        return shutil.disk_usage(directory).free
    except OSError as error:
        raise SiteError(f"cannot tell how much disk is free: {error.strerror}", where=str(directory)) from error


def part_of(whole: Resources, stated: Mapping[str, float], *, lenient: bool = False) -> Resources:
    """The part of a machine that the user stated. More than the machine has is an error, or reduced if `lenient`."""
    for name, value in stated.items():
        available = whole[name] or 0
        if value > available and not lenient:
            raise InputError(
                f"{describe(name, value)} was asked for, this machine has {describe(name, available)}",
                todo=f"request at most that, or leave --{name.removesuffix('_bytes')} out",
            )
    return whole.replace(**{name: min(value, whole[name] or 0) for name, value in stated.items()})


def _cores() -> float:
    from headway.workers.trees.cgroups import read_text

    cores = float(len(os.sched_getaffinity(0)))
    words = read_text("/sys/fs/cgroup/cpu.max").split()
    quota, period = map(int, words) if len(words) == 2 and words[0].isdigit() else (0, 0)
    return min(cores, max(1.0, quota // period)) if quota and period else cores


def _memory_bytes() -> int:
    """The machine's memory, or less if a control group of version 1 or 2 limits this process."""
    from headway.workers.trees.cgroups import own_directory, read_amount

    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    files = (
        "/sys/fs/cgroup/memory.max",
        f"{own_directory('')}/memory.max",
        f"{own_directory('memory')}/memory.limit_in_bytes",
    )
    limits = [limit for file in files if (limit := read_amount(file))]
    return min([total, *(limit for limit in limits if limit < _NO_LIMIT)])
