"""Groups as v1 cgroups: the memory controller, and cpuacct where it is writable."""

from __future__ import annotations

import os
import re

from headway.workers.trees import cgroups
from headway.workers.trees.group import Groups, Sample, Totals
from headway.workers.trees.processes import ChildrenOf, read_process

_STAT = re.compile(r"^total_(rss|shmem|swap|cache) (\d+)$", re.MULTILINE)
_OOM = re.compile(r"^(oom_kill) (\d+)$", re.MULTILINE)


class CgroupV1Groups(Groups):
    """Makes a cgroup for each attempt below our own, in the memory hierarchy and if possible in that of cpuacct."""

    method = "cgroup-v1"

    def __init__(self, memory: str, cpuacct: str | None) -> None:
        self._memory = cgroups.new_folder(memory)
        self._cpuacct: str | None = None
        if cpuacct is not None and os.access(cpuacct, os.W_OK):
            self._cpuacct = cgroups.new_folder(cpuacct)
        self._made = 0

    def make(self, key: str, memory_bytes: int) -> CgroupV1Group:
        self._made += 1
        name = f"{cgroups.attempt_name(key)}{self._made}"
        group = CgroupV1Group(f"{self._memory}/{name}", self._cpuacct and f"{self._cpuacct}/{name}")
        group.create(memory_bytes)
        return group

    def close(self) -> None:
        """Remove our own folders. Those of the attempts are removed before."""
        for folder in filter(None, (self._memory, self._cpuacct)):
            cgroups.remove_folder(folder)


class CgroupV1Group(cgroups.CgroupGroup):
    """One attempt's cgroup."""

    method = "cgroup-v1"

    def __init__(self, memory: str, cpuacct: str | None) -> None:
        super().__init__(memory)
        self._memory = memory
        self._cpuacct = cpuacct
        self.procs_files = [f"{folder}/cgroup.procs" for folder in (memory, cpuacct) if folder]

    def create(self, memory_bytes: int) -> None:
        """Make the folders and set the memory limit."""
        os.mkdir(self._memory)
        if self._cpuacct:
            os.mkdir(self._cpuacct)
        if memory_bytes:
            limit = str(cgroups.kernel_limit_bytes(memory_bytes))
            cgroups.write(f"{self._memory}/memory.limit_in_bytes", limit)
            # A limit on memory and swap together: otherwise the kernel would swap out what exceeds the memory limit.
            # The file is absent without swap accounting; the limit then holds for resident memory only.
            swap_limit = f"{self._memory}/memory.memsw.limit_in_bytes"
            if os.access(swap_limit, os.W_OK):
                cgroups.write(swap_limit, limit)

    def sample(self, children_of: ChildrenOf) -> Sample | None:
        held_bytes = self._held_bytes()
        if held_bytes is None:
            return None
        cpu_s = self._cpu_s()
        if cpu_s is None:
            processes = (read_process(pid) for pid in self.members(children_of))
            cpu_s = sum(process.cpu_s for process in processes if process)
        return Sample(held_bytes, held_bytes, cpu_s)

    def totals(self) -> Totals:
        self._held_bytes()  # updates the page cache figure: cache stays charged after the last process has ended
        peak_bytes = cgroups.read_amount(f"{self._memory}/memory.memsw.max_usage_in_bytes")
        if peak_bytes is None:
            peak_bytes = cgroups.read_amount(f"{self._memory}/memory.max_usage_in_bytes")
        kernel_bytes = cgroups.read_amount(f"{self._memory}/memory.kmem.max_usage_in_bytes") or 0
        return Totals(
            cpu_s=self._cpu_s(),
            peak_bytes=peak_bytes,
            peak_held_bytes=peak_bytes and max(peak_bytes - self._most_cache_bytes - kernel_bytes, 0),
            memory_kills=self.memory_kills(),
        )

    def memory_kills(self) -> int:
        """Return `oom_kill`, which also counts a killed process whose parent carried on."""
        return cgroups.read_amounts(f"{self._memory}/memory.oom_control", _OOM).get("oom_kill", 0)

    def remove(self) -> bool:
        removed = [cgroups.remove_folder(folder) for folder in (self._memory, self._cpuacct) if folder]
        return all(removed)

    def _held_bytes(self) -> int | None:
        amounts = cgroups.read_amounts(f"{self._memory}/memory.stat", _STAT)
        if not amounts:
            return None
        self._most_cache_bytes = max(self._most_cache_bytes, amounts["cache"] - amounts["shmem"])
        return amounts["rss"] + amounts["shmem"] + amounts.get("swap", 0)

    def _cpu_s(self) -> float | None:
        usage_ns = cgroups.read_amount(f"{self._cpuacct}/cpuacct.usage") if self._cpuacct else None
        return None if usage_ns is None else usage_ns / 1e9
