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
    cores = float(len(os.sched_getaffinity(0)))
    quota, period = _first_numbers("/sys/fs/cgroup/cpu.max", 2) or (0, 0)
    return min(cores, max(1.0, quota // period)) if quota and period else cores


def _memory_bytes() -> int:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [_first_numbers(path, 1) for path in _limit_files()]
    return min([total, *(limit[0] for limit in limits if limit and 0 < limit[0] < _NO_LIMIT)])


def _limit_files() -> list[str]:
    """The files with this process's memory limits, for versions 1 and 2 of control groups."""
    files = ["/sys/fs/cgroup/memory.max"]
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return files
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            files.append(f"/sys/fs/cgroup/memory{path}/memory.limit_in_bytes")
        elif not controllers:
            files.append(f"/sys/fs/cgroup{path}/memory.max")
    return files


def _first_numbers(path: str, count: int) -> list[int] | None:
    try:
        words = Path(path).read_text().split()[:count]
    except OSError:
        return None
    return [int(word) for word in words] if all(word.isdigit() for word in words) else None
