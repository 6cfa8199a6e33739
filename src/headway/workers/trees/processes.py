"""Processes as /proc describes them: identity, parents and children, memory.

A process that has ended meanwhile is no error: functions return None for it or leave it out.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from headway.workers.trees import spawner

MARKER = "HEADWAY_ATTEMPT"  # the environment variable that marks the processes of an attempt

_PROC = "/proc"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STATUS_KB = re.compile(rb"^(RssAnon|RssFile|RssShmem|VmSwap):\s+(\d+)", re.MULTILINE)
_CAUGHT = re.compile(rb"^SigCgt:\s+([0-9a-f]+)", re.MULTILINE)
_PROPORTIONAL_KB = re.compile(rb"^(Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)", re.MULTILINE)
_MARKER_ENTRY = re.compile(rb"(?:^|\0)" + MARKER.encode() + rb"=([^\0]*)")


class Process(NamedTuple):
    """The fields of /proc/<pid>/stat that are used here."""

    pid: int
    start_ticks: int  # since boot; unique together with the pid, which alone can be reused
    dead: bool  # ended, but not reaped
    stopped: bool  # by a signal, until it gets SIGCONT
    parent: int
    session: int
    threads: int
    cpu_s: float  # its own and that of the children that it reaped


class Memory(NamedTuple):
    """The memory of one process. File pages do not count as held, since the kernel can drop them at any time."""

    held_bytes: int  # anonymous, shared and swapped
    file_bytes: int


ChildrenOf = Callable[[Process], list[int]]


def read_process(pid: int) -> Process | None:
    """Read the process with this id."""
    line = read_file(f"{_PROC}/{pid}/stat")
    if not line:
        return None
    fields = line.rpartition(b")")[2].split()  # a command's name can contain blanks and brackets
    return Process(
        pid=pid,
        start_ticks=int(fields[19]),
        dead=fields[0] in (b"Z", b"X"),
        stopped=fields[0] in (b"T", b"t"),
        parent=int(fields[1]),
        session=int(fields[3]),
        threads=int(fields[17]),
        cpu_s=sum(map(int, fields[11:15])) / _TICKS_PER_S,
    )


def read_memory(pid: int) -> Memory | None:
    """Read the memory of a process; None also for a zombie or a kernel thread, which have none."""
    amounts = dict(_STATUS_KB.findall(read_file(f"{_PROC}/{pid}/status")))
    if not amounts:
        return None
    file_kb = int(amounts.pop(b"RssFile"))
    return Memory(sum(map(int, amounts.values())) * 1024, file_kb * 1024)


def summed_bytes(pids: Sequence[int]) -> int:
    """Return the sum of what the processes hold; shared pages count once for each process."""
    return sum(memory.held_bytes for pid in pids if (memory := read_memory(pid)))


def proportional_bytes(pids: Sequence[int]) -> int:
    """Return a lower bound of what the processes hold together, shared pages counted once.

    Slow: the kernel walks all page tables (about 20 ms per GB mapped). Processes are read one after the other: a page
    that becomes shared between two reads counts twice. The error is at most the growth of the sum in that time, which
    is therefore subtracted. The result may be too small; the next sample corrects it.
    """
    before_bytes = summed_bytes(pids)
    shares_bytes = sum(_share_bytes(pid) for pid in pids)
    return max(0, shares_bytes - max(0, summed_bytes(pids) - before_bytes))


def _share_bytes(pid: int) -> int:
    amounts = _PROPORTIONAL_KB.findall(read_file(f"{_PROC}/{pid}/smaps_rollup"))
    if amounts:
        return sum(int(kb) for _, kb in amounts) * 1024
    return summed_bytes([pid])  # the kernel has no such file, or denies reading it


def marker_of(pid: int) -> str | None:
    """Return the key of the attempt that the process belongs to; None if its environment has no marker."""
    found = _MARKER_ENTRY.search(read_file(f"{_PROC}/{pid}/environ"))
    return os.fsdecode(found[1]) if found else None


def is_witness(pid: int, marker: str) -> bool:
    """Whether the process waits for the end of a command, for the spawner with this marker: see `spawner`.

    A command may have a witness's name, but its environment has another marker or none.
    """
    return is_named_witness(pid) and marker_of(pid) == marker


def is_named_witness(pid: int) -> bool:
    """Whether the process has a witness's name. That is all to tell of one that has ended: its environment is gone."""
    return read_file(f"{_PROC}/{pid}/comm").strip() == spawner.WITNESS


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for that signal."""
    found = _CAUGHT.search(read_file(f"{_PROC}/{pid}/status"))
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def all_pids() -> Iterator[int]:
    """Return the ids of all processes that are visible to us."""
    return (int(name) for name in os.listdir(_PROC) if name.isdigit())


def children_lookup() -> ChildrenOf:
    """Return a function from a process to the ids of its children, valid for one round of samples.

    Linux lists the children of a thread if it was built with CONFIG_PROC_CHILDREN, as distributions do. Otherwise the
    function uses one walk over all processes.
    """
    if _lists_children():
        return _listed_children
    children: defaultdict[int, list[int]] = defaultdict(list)
    for pid in all_pids():
        if process := read_process(pid):
            children[process.parent].append(pid)
    return lambda process: children[process.pid]


def descendants(roots: Iterable[int], children_of: ChildrenOf) -> list[Process]:
    """Return the living processes among `roots` and all their descendants."""
    found: dict[int, Process] = {}
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid in found:
            continue
        process = read_process(pid)
        if process and not process.dead:
            found[pid] = process
            waiting.extend(children_of(process))
    return list(found.values())


def _lists_children() -> bool:
    return os.path.exists(f"{_PROC}/{os.getpid()}/task/{os.getpid()}/children")


def _listed_children(process: Process) -> list[int]:
    threads = [str(process.pid)] if process.threads == 1 else list_folder(f"{_PROC}/{process.pid}/task")
    children: list[int] = []
    for thread in threads:
        children.extend(map(int, read_file(f"{_PROC}/{process.pid}/task/{thread}/children").split()))
    return children


def list_folder(path: str) -> list[str]:
    """Return the names in a folder; none if it cannot be read."""
    try:
        return os.listdir(path)
    except OSError:
        return []


def read_file(path: str) -> bytes:
    """Read a file of /proc or of a cgroup; empty if that fails. Avoids the cost of Python's file objects."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 1 << 16):  # the kernel may return less than there is, such as a page of a long list
            parts.append(part)
        return b"".join(parts)
    except OSError:  # the process has ended, or the cgroup is being removed
        return b""
    finally:
        os.close(fd)
