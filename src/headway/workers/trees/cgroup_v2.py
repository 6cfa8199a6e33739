"""Groups as v2 cgroups, in a cgroup delegated to this user: `systemd-run --user --scope -p Delegate=yes headway …`."""

from __future__ import annotations

import contextlib
import os
import re
import signal

from headway.workers.trees import cgroups
from headway.workers.trees.processes import ChildrenOf

_CONTROL = "cgroup.subtree_control"
_STAT = re.compile(r"^(anon|shmem|file|kernel) (\d+)$", re.MULTILINE)
_CPU = re.compile(r"^(usage_usec) (\d+)$", re.MULTILINE)


def unusable_because(own: str) -> str:
    """Return why the v2 cgroup `own` cannot be used for attempts; "" if it can, as far as its files tell."""
    if "memory" not in cgroups.read_text(f"{own}/cgroup.controllers").split():
        return "its memory controller is not available to this user"
    for name in ("", "/cgroup.procs", f"/{_CONTROL}"):
        if not os.access(f"{own}{name}", os.W_OK):
            return f"{own}{name} is not writable (not delegated to this user)"
    if not _is_ours(own):
        return f"{own} belongs to systemd and was not delegated (Delegate=yes)"
    return ""


def _is_ours(own: str) -> bool:
    """Whether the cgroup was delegated. Root can write to any, but systemd may rearrange those not delegated."""
    if os.stat(own).st_uid == os.geteuid() != 0 or not os.path.isdir("/run/systemd/system"):
        return True
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            return os.getxattr(own, name) == b"1"
    return False


class CgroupV2Group(cgroups.CgroupGroup):
    """One attempt's cgroup."""

    method = "cgroup-v2"
    limit_file = "memory.max"
    swap_limit_file = "memory.swap.max"
    swap_limit = "0"
    kills_file = "memory.events"

    def kill(self, children_of: ChildrenOf) -> None:
        """Kill all processes atomically (since Linux 5.14), and the first process, which may not have entered yet."""
        if self._leader is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._leader, signal.SIGKILL)
        try:
            cgroups.write(f"{self._path}/cgroup.kill", "1")
        except OSError:
            super().kill(children_of)

    def _held_bytes(self) -> int | None:
        amounts = cgroups.read_amounts(f"{self._path}/memory.stat", _STAT)
        if not amounts:
            return None
        shmem_bytes = amounts.get("shmem", 0)
        self._most_cache_bytes = max(self._most_cache_bytes, amounts["file"] - shmem_bytes)
        self._most_kernel_bytes = max(self._most_kernel_bytes, amounts.get("kernel", 0))
        swap_bytes = cgroups.read_amount(f"{self._path}/memory.swap.current") or 0
        return amounts["anon"] + shmem_bytes + swap_bytes

    def _peak_bytes(self) -> int | None:
        return cgroups.read_amount(f"{self._path}/memory.peak")  # since Linux 5.19

    def _cpu_s(self) -> float | None:
        usage_us = cgroups.read_amounts(f"{self._path}/cpu.stat", _CPU).get("usage_usec")
        return None if usage_us is None else usage_us / 1e6


class CgroupV2Groups(cgroups.CgroupGroups):
    """Makes a cgroup for each attempt: `<own>/headway-…/<attempt>`.

    A cgroup that enables controllers for its children must not contain processes. So all processes in our own cgroup,
    this one included, are moved to `<own>/headway-…/supervisor`, and back at the end. If a supervisor was killed, its
    processes are still in its folder; the next supervisor takes them over.
    """

    method = "cgroup-v2"
    group = CgroupV2Group

    def __init__(self, own: str) -> None:
        self._own = own
        self._enabled = False  # we enabled the memory controller for children, so we disable it at the end
        self._folder = cgroups.new_folder(own)
        super().__init__(self._folder)
        self._home = f"{self._folder}/{cgroups.HOME}"
        try:
            os.mkdir(self._home)
            for folder in cgroups.abandoned_folders(own):
                self._enabled |= _move(f"{folder}/{cgroups.HOME}", self._home)
                cgroups.remove_folder(folder)
            if "memory" not in cgroups.read_text(f"{own}/{_CONTROL}").split():
                self._enable_memory()
            cgroups.write(f"{self._folder}/{_CONTROL}", "+memory")
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Restore our own cgroup, unless another supervisor uses it in the same way."""
        if self._enabled:
            for folder in (self._folder, self._own):
                with contextlib.suppress(OSError):
                    cgroups.write(f"{folder}/{_CONTROL}", "-memory")
        _move(self._home, self._own)
        super().close()

    def _enable_memory(self) -> None:
        try:
            cgroups.write(f"{self._own}/{_CONTROL}", "+memory")  # works in the root cgroup, and without processes
        except OSError:
            _move(self._own, self._home)
            cgroups.write(f"{self._own}/{_CONTROL}", "+memory")
        self._enabled = True


def _move(source: str, destination: str) -> bool:
    """Move all processes; return whether there were any."""
    found = False
    for _ in range(3):  # a process can fork while it is moved
        for pid in cgroups.processes_in(source):
            found = True
            with contextlib.suppress(OSError):
                cgroups.write(f"{destination}/cgroup.procs", str(pid))
    return found
