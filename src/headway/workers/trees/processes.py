"""What /proc says about processes: who they are, whose children, what they hold.

Every function answers None or leaves a process out if it has ended meanwhile: that is not an error but daily bread.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

MARKER = "HEADWAY_ATTEMPT"  # the environment variable by which an attempt's processes are found again

_PROC = "/proc"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STATUS_KB = re.compile(rb"^(RssAnon|RssFile|RssShmem|VmSwap):\s+(\d+)", re.MULTILINE)
_CAUGHT = re.compile(rb"^SigCgt:\s+([0-9a-f]+)", re.MULTILINE)
_PROPORTIONAL_KB = re.compile(rb"^(Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)", re.MULTILINE)
_MARKER_ENTRY = re.compile(rb"(?:^|\0)" + MARKER.encode() + rb"=([^\0]*)")


class Process(NamedTuple):
    """One line of /proc/<pid>/stat, as far as it matters here."""

    pid: int
    start_ticks: int  # since boot: with the pid it names one process for good, pids alone come round again
    dead: bool  # ended, but not reaped yet
    parent: int
    session: int
    threads: int
    cpu_s: float  # its own and that of the children it reaped


class Memory(NamedTuple):
    """What one process has mapped. File pages can be dropped at any time, so they are not held."""

    held_bytes: int  # anonymous, shared and swapped
    file_bytes: int


ChildrenOf = Callable[[Process], list[int]]


def read_process(pid: int) -> Process | None:
    """The process with that id."""
    line = _read(f"{_PROC}/{pid}/stat")
    if not line:
        return None
    fields = line.rpartition(b")")[2].split()  # a command's name may hold blanks and brackets
    return Process(
        pid=pid,
        start_ticks=int(fields[19]),
        dead=fields[0] in (b"Z", b"X"),
        parent=int(fields[1]),
        session=int(fields[3]),
        threads=int(fields[17]),
        cpu_s=sum(map(int, fields[11:15])) / _TICKS_PER_S,
    )


def read_memory(pid: int) -> Memory | None:
    """What the process holds now. None also for one that has no memory any more, or never had."""
    amounts = dict(_STATUS_KB.findall(_read(f"{_PROC}/{pid}/status") or b""))
    if not amounts:
        return None
    file_kb = int(amounts.pop(b"RssFile"))
    return Memory(sum(map(int, amounts.values())) * 1024, file_kb * 1024)


def summed_bytes(pids: Sequence[int]) -> int:
    """What each of the processes holds, added up: pages that several of them share count several times."""
    return sum(memory.held_bytes for pid in pids if (memory := read_memory(pid)))


def proportional_bytes(pids: Sequence[int]) -> int:
    """What the processes hold together at least, pages that several of them share counted once.

    Slow: the kernel walks all their page tables (about 20 ms per GB mapped). And not of one moment: what one process
    begins to share with another after the first has been looked at counts twice. That cannot be more than what their
    sum has grown by meanwhile, so this is taken off again: better too little, at the next look it will be there.
    """
    before_bytes = summed_bytes(pids)
    shares_bytes = sum(_share_bytes(pid) for pid in pids)
    return max(0, shares_bytes - max(0, summed_bytes(pids) - before_bytes))


def _share_bytes(pid: int) -> int:
    amounts = _PROPORTIONAL_KB.findall(_read(f"{_PROC}/{pid}/smaps_rollup") or b"")
    if amounts:
        return sum(int(kb) for _, kb in amounts) * 1024
    return summed_bytes([pid])  # a kernel or a process that does not let us look


def marker_of(pid: int) -> str | None:
    """The attempt that the process was started for, if its environment still says so."""
    found = _MARKER_ENTRY.search(_read(f"{_PROC}/{pid}/environ") or b"")
    return os.fsdecode(found[1]) if found else None


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for that signal."""
    found = _CAUGHT.search(_read(f"{_PROC}/{pid}/status") or b"")
    return found is not None and bool(int(found[1], 16) >> (number - 1) & 1)


def all_pids() -> Iterator[int]:
    """Every process of the machine that we may see."""
    return (int(name) for name in os.listdir(_PROC) if name.isdigit())


def children_lookup() -> ChildrenOf:
    """A function from a process to its children's ids, good for one round of looks.

    Linux lists a thread's children if it was built to (CONFIG_PROC_CHILDREN, as distributions do). Elsewhere one
    walk over all processes answers for the whole round.
    """
    if _lists_children():
        return _listed_children
    children: defaultdict[int, list[int]] = defaultdict(list)
    for pid in all_pids():
        if process := read_process(pid):
            children[process.parent].append(pid)
    return lambda process: children[process.pid]


def descendants(roots: Iterable[int], children_of: ChildrenOf) -> list[Process]:
    """The living processes among `roots` and all their descendants."""
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
    pid = os.getpid()
    return os.path.exists(f"{_PROC}/{pid}/task/{pid}/children")


def _listed_children(process: Process) -> list[int]:
    threads = [str(process.pid)] if process.threads == 1 else _list(f"{_PROC}/{process.pid}/task")
    children: list[int] = []
    for thread in threads:
        children.extend(map(int, (_read(f"{_PROC}/{process.pid}/task/{thread}/children") or b"").split()))
    return children


def _list(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _read(path: str) -> bytes | None:
    """The whole file, without the cost of Python's file objects: this runs thousands of times a second."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        chunks = [os.read(fd, 1 << 16)]
        while len(chunks[-1]) >= 4096 and (more := os.read(fd, 1 << 16)):  # seq files give a page or so at a time
            chunks.append(more)
        return b"".join(chunks)
    except OSError:
        return None
    finally:
        os.close(fd)
