"""Groups as v1 cgroups: the memory controller, and cpuacct where it is writable."""

from __future__ import annotations

import os
import re

from headway.workers.trees import cgroups

_STAT = re.compile(r"^total_(rss|shmem|swap|cache) (\d+)$", re.MULTILINE)


class CgroupV1Group(cgroups.CgroupGroup):
    """One attempt's cgroup: a folder of the memory controller and, if there is one, a folder of cpuacct."""

    method = "cgroup-v1"
    limit_file = "memory.limit_in_bytes"
    swap_limit_file = "memory.memsw.limit_in_bytes"
    swap_limit = None  # this file limits memory and swap together
    kills_file = "memory.oom_control"

    def _held_bytes(self) -> int | None:
        amounts = cgroups.read_amounts(f"{self._path}/memory.stat", _STAT)
        if not amounts:
            return None
        self._most_cache_bytes = max(self._most_cache_bytes, amounts["cache"] - amounts["shmem"])
        return amounts["rss"] + amounts["shmem"] + amounts.get("swap", 0)

    def _peak_bytes(self) -> int | None:
        self._most_kernel_bytes = cgroups.read_amount(f"{self._path}/memory.kmem.max_usage_in_bytes") or 0
        with_swap_bytes = cgroups.read_amount(f"{self._path}/memory.memsw.max_usage_in_bytes")
        if with_swap_bytes is not None:
            return with_swap_bytes
        return cgroups.read_amount(f"{self._path}/memory.max_usage_in_bytes")

    def _cpu_s(self) -> float | None:
        usage_ns = cgroups.read_amount(f"{self._folders[-1]}/cpuacct.usage")
        return None if usage_ns is None else usage_ns / 1e9


class CgroupV1Groups(cgroups.CgroupGroups):
    """Makes a cgroup for each attempt below our own, in the memory hierarchy and if possible in that of cpuacct."""

    method = "cgroup-v1"
    group = CgroupV1Group

    def __init__(self, memory: str, cpuacct: str | None) -> None:
        hierarchies = [memory, cpuacct] if cpuacct is not None and os.access(cpuacct, os.W_OK) else [memory]
        super().__init__(*map(cgroups.new_folder, hierarchies))
