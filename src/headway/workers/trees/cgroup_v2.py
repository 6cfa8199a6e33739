"""Groups as cgroup v2, in a cgroup that was delegated to us: `systemd-run --user --scope -p Delegate=yes headway …`."""

from __future__ import annotations

import contextlib
import os
import re
import signal

from headway.workers.trees import cgroups
from headway.workers.trees.group import Group, Groups, Sample, Totals
from headway.workers.trees.processes import ChildrenOf, Process

_CONTROL = "cgroup.subtree_control"
_STAT = re.compile(r"^(anon|shmem|file|kernel) (\d+)$", re.MULTILINE)
_OOM = re.compile(r"^(oom_kill) (\d+)$", re.MULTILINE)
_CPU = re.compile(r"^(usage_usec) (\d+)$", re.MULTILINE)


def unusable_because(own: str) -> str:
    """Why the v2 cgroup `own` cannot be used for attempts; "" if it can, as far as one can tell without trying."""
    controllers = (cgroups.read_text(f"{own}/cgroup.controllers")).split()
    if "memory" not in controllers:
        return "its memory controller is not available to us"
    for name in ("", "/cgroup.procs", f"/{_CONTROL}"):
        if not os.access(f"{own}{name}", os.W_OK):
            return f"{own}{name} is not writable (not delegated to this user)"
    if not _is_ours(own):
        return f"{own} belongs to systemd and was not delegated (Delegate=yes)"
    return ""


def _is_ours(own: str) -> bool:
    """Root may write everywhere, but what systemd has not delegated it may rearrange at any time."""
    if os.stat(own).st_uid == os.geteuid() != 0 or not os.path.isdir("/run/systemd/system"):
        return True
    for name in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            return os.getxattr(own, name) == b"1"
    return False


class CgroupV2Groups(Groups):
    """Makes a cgroup an attempt: `<own>/headway-…/<attempt>`.

    A cgroup that hands controllers down may have no processes itself. So whatever is in our own, this process first
    of all, moves into `<own>/headway-…/supervisor`, and back again at the end. A supervisor that was killed has left
    them in its folder; its successor takes them over.
    """

    method = "cgroup-v2"

    def __init__(self, own: str) -> None:
        self._own = own
        self._made = 0
        self._handed_down = False  # by us, so to be undone by us
        self._folder = cgroups.new_folder(own)
        self._home = f"{self._folder}/{cgroups.HOME}"
        try:
            os.mkdir(self._home)
            self._take_over()
            if "memory" not in cgroups.read_text(f"{own}/{_CONTROL}").split():
                self._hand_down()
            cgroups.write(f"{self._folder}/{_CONTROL}", "+memory")
        except OSError:
            self.close()
            raise

    def make(self, key: str, memory_bytes: int) -> CgroupV2Group:
        """A cgroup for one attempt."""
        self._made += 1
        group = CgroupV2Group(f"{self._folder}/{cgroups.attempt_name(key)}{self._made}")
        group.create(memory_bytes)
        return group

    def close(self) -> None:
        """Leave our own cgroup as it was found, if nobody else is using it in the same way."""
        if self._handed_down:
            for folder in (self._folder, self._own):
                with contextlib.suppress(OSError):
                    cgroups.write(f"{folder}/{_CONTROL}", "-memory")
        _move(self._home, self._own)
        cgroups.remove_folder(self._folder)

    def _take_over(self) -> None:
        for folder in cgroups.abandoned_folders(self._own):
            if _move(f"{folder}/{cgroups.HOME}", self._home):
                self._handed_down = True
            cgroups.remove_folder(folder)

    def _hand_down(self) -> None:
        try:
            cgroups.write(f"{self._own}/{_CONTROL}", "+memory")  # the root cgroup may, and one without processes
        except OSError:
            _move(self._own, self._home)
            cgroups.write(f"{self._own}/{_CONTROL}", "+memory")
        self._handed_down = True


def _move(source: str, destination: str) -> bool:
    """Move all processes; whether there were any."""
    pids: list[int] = []
    for _ in range(3):  # what forks meanwhile leaves children behind
        staying = cgroups.processes_in(source)
        if not staying:
            break
        pids += staying
        for pid in staying:
            with contextlib.suppress(OSError):
                cgroups.write(f"{destination}/cgroup.procs", str(pid))
    return bool(pids)


class CgroupV2Group(Group):
    """One attempt's cgroup."""

    method = "cgroup-v2"

    def __init__(self, path: str) -> None:
        self._path = path
        self._most_cache_bytes = 0
        self._leader: int | None = None
        self._most_kernel_bytes = 0
        self.procs_files = [f"{path}/cgroup.procs"]

    def create(self, memory_bytes: int) -> None:
        """Make the folder and set the kernel's limit."""
        os.mkdir(self._path)
        if memory_bytes:
            cgroups.write(f"{self._path}/memory.max", str(cgroups.kernel_limit_bytes(memory_bytes)))
            swap_limit = f"{self._path}/memory.swap.max"  # absent without swap accounting
            if os.access(swap_limit, os.W_OK):
                cgroups.write(swap_limit, "0")

    def set_leader(self, pid: int | None) -> None:
        """It enters the cgroup a moment after it was started."""
        self._leader = pid

    def members(self, children_of: ChildrenOf) -> list[int]:
        """Whatever was forked by a member is one, wherever it went; the first process also before it gets there."""
        pids = cgroups.processes_below(self._path)
        if self._leader is None:
            return pids
        return [self._leader, *(pid for pid in pids if pid != self._leader)]

    def sample(self, children_of: ChildrenOf) -> Sample | None:
        """What the kernel charges to the cgroup, page cache apart."""
        held_bytes = self._held_bytes()
        return None if held_bytes is None else Sample(held_bytes, held_bytes, self._cpu_s() or 0.0)

    def owns(self, orphan: Process) -> bool:
        """A process keeps its cgroup until it is reaped."""
        return cgroups.holds(self._path, orphan.pid)

    def totals(self) -> Totals:
        """The kernel's own counters; its peak since Linux 5.19."""
        self._held_bytes()  # for the cache: what was read and written stays charged after the last member's end
        peak_bytes = cgroups.read_amount(f"{self._path}/memory.peak")
        other_bytes = self._most_cache_bytes + self._most_kernel_bytes
        return Totals(
            cpu_s=self._cpu_s(),
            peak_bytes=peak_bytes,
            peak_held_bytes=peak_bytes and max(peak_bytes - other_bytes, 0),
            memory_kills=self.memory_kills(),
        )

    def memory_kills(self) -> int:
        """`oom_kill` counts every member that the kernel killed, also one whose parent carried on."""
        return cgroups.read_amounts(f"{self._path}/memory.events", _OOM).get("oom_kill", 0)

    def kill(self, children_of: ChildrenOf) -> None:
        """All at once and without a gap to fork in, since Linux 5.14; the first process may not be in there yet."""
        if self._leader is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._leader, signal.SIGKILL)
        try:
            cgroups.write(f"{self._path}/cgroup.kill", "1")
        except OSError:
            super().kill(children_of)

    def remove(self) -> bool:
        """The attempt's folder, and any that it made in it."""
        return cgroups.remove_folder(self._path)

    def _held_bytes(self) -> int | None:
        amounts = cgroups.read_amounts(f"{self._path}/memory.stat", _STAT)
        if not amounts:
            return None
        shmem_bytes = amounts.get("shmem", 0)
        self._most_cache_bytes = max(self._most_cache_bytes, amounts["file"] - shmem_bytes)
        self._most_kernel_bytes = max(self._most_kernel_bytes, amounts.get("kernel", 0))
        swap_bytes = cgroups.read_amount(f"{self._path}/memory.swap.current") or 0
        return amounts["anon"] + shmem_bytes + swap_bytes

    def _cpu_s(self) -> float | None:
        usage_us = cgroups.read_amounts(f"{self._path}/cpu.stat", _CPU).get("usage_usec")
        return None if usage_us is None else usage_us / 1e6
