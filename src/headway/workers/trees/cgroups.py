"""What cgroup v1 and v2 have in common: finding our own cgroup, and making and removing folders in it.

Each supervisor makes one folder `headway-<pid>-<start>-<n>`, named by its pid and start time, so that another process
can tell whether its owner is still alive. It holds one folder for each attempt, named by the attempt's key.
"""

from __future__ import annotations

import itertools
import os
import re
import zlib
from abc import abstractmethod
from collections.abc import Iterator

from headway.workers.trees.group import Group, Groups, Sample, Totals
from headway.workers.trees.processes import ChildrenOf, Process, list_folder, read_file, read_process

HOME = "supervisor"  # the cgroup into which a v2 supervisor moves itself; `own_directory` returns the one above
_OWNED = re.compile(r"headway-(\d+)-(\d+)-\d+")
_HOME = re.compile(rf"(/{_OWNED.pattern}/{HOME})+$")
_UNSAFE = re.compile(r"[^A-Za-z0-9_,=+\[\]-]")
_OOM = re.compile(r"^(oom_kill) (\d+)$", re.MULTILINE)
_PREFIX = "task-"
_LONGEST_NAME = 200  # a file name is limited to 255 bytes; longer keys are cut and get a checksum
_counter = itertools.count(1)

# The kernel also counts its own memory for the processes: page tables, stacks, slabs. Measured on Linux 6.18: 0.2 % of
# what is densely mapped (20 MB to 4 GB, 1 to 100 processes), and up to 1.4 MB while a process starts. So the kernel's
# limit is this much above the attempt's limit: the kernel must not kill a command that is within its limit. Sampling
# finds commands between the two limits.
_KERNEL_SHARE = 0.02
_KERNEL_BYTES = 4 << 20


def kernel_limit_bytes(memory_bytes: int) -> int:
    """Return the limit to set in the kernel for an attempt whose limit is `memory_bytes`."""
    return memory_bytes + int(memory_bytes * _KERNEL_SHARE) + _KERNEL_BYTES


class CgroupGroup(Group):
    """One attempt's cgroup: what v1 and v2 have in common.

    It is a folder in each hierarchy that is used, the one of the memory controller first.
    """

    limit_file: str
    swap_limit_file: str  # absent without swap accounting; the limit then holds for resident memory only
    swap_limit: str | None  # None: the same as the memory limit
    kills_file: str

    def __init__(self, *folders: str) -> None:
        self._folders = folders
        self._path = folders[0]
        self.procs_files = [f"{folder}/cgroup.procs" for folder in folders]
        self._leader: int | None = None
        self._orphans: set[int] = set()  # our children: a pid cannot be reused before we reap it
        self._most_cache_bytes = 0
        self._most_kernel_bytes = 0

    def create(self, memory_bytes: int) -> None:
        """Make the folders and set the memory limit. Swap is limited, too, or the kernel would swap out the excess."""
        for folder in self._folders:
            os.mkdir(folder)
        if memory_bytes:
            limit = str(kernel_limit_bytes(memory_bytes))
            write(f"{self._path}/{self.limit_file}", limit)
            if os.access(f"{self._path}/{self.swap_limit_file}", os.W_OK):
                write(f"{self._path}/{self.swap_limit_file}", self.swap_limit or limit)

    def set_leader(self, pid: int | None) -> None:
        """Remember the first process: it enters the cgroup a moment after its start."""
        self._leader = pid

    def members(self, children_of: ChildrenOf) -> list[int]:
        """Return the processes of the cgroup, and the first process even before it has entered the cgroup."""
        pids = processes_below(self._path)
        if self._leader is None:
            return pids
        return [self._leader, *(pid for pid in pids if pid != self._leader)]

    def owns(self, orphan: Process) -> bool:
        """Whether the process is in the cgroup. A v1 hierarchy does not say of a dead one where it was."""
        return orphan.pid == self._leader or orphan.pid in self._orphans or holds(self._path, orphan.pid)

    def adopt(self, pid: int) -> None:
        self._orphans.add(pid)

    def forget_orphan(self, pid: int) -> None:
        self._orphans.discard(pid)

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
        """Return the kernel's own counters."""
        self._held_bytes()  # updates the page cache figure: cache stays charged after the last process has ended
        peak_bytes = self._peak_bytes()
        other_bytes = self._most_cache_bytes + self._most_kernel_bytes
        return Totals(
            cpu_s=self._cpu_s(),
            peak_bytes=peak_bytes,
            peak_held_bytes=peak_bytes and max(peak_bytes - other_bytes, 0),
            memory_kills=self.memory_kills(),
        )

    def memory_kills(self) -> int:
        """Return `oom_kill`, which also counts a killed process whose parent carried on."""
        return read_amounts(f"{self._path}/{self.kills_file}", _OOM).get("oom_kill", 0)

    def remove(self) -> bool:
        removed = [remove_folder(folder) for folder in self._folders]
        return all(removed)

    @abstractmethod
    def _held_bytes(self) -> int | None:
        """Return the memory that it holds now, and note the most page cache and kernel memory seen."""

    @abstractmethod
    def _peak_bytes(self) -> int | None:
        """Return the peak of all memory charged, if the kernel counts it."""

    @abstractmethod
    def _cpu_s(self) -> float | None:
        """Return the CPU time used so far, if the kernel counts it."""


class CgroupGroups(Groups):
    """Makes a cgroup for each attempt, in our own folder of each hierarchy that is used."""

    group: type[CgroupGroup]

    def __init__(self, *folders: str) -> None:
        self._folders = folders
        self._made = 0

    def make(self, key: str, memory_bytes: int) -> Group:
        self._made += 1
        group = self.group(*(f"{folder}/{attempt_name(key)}{self._made}" for folder in self._folders))
        group.create(memory_bytes)
        return group

    def close(self) -> None:
        """Remove our own folders. Those of the attempts are removed before."""
        for folder in self._folders:
            remove_folder(folder)


def own_directory(hierarchy: str, proc: str = "/proc/self") -> str | None:
    """Return the folder of this process's cgroup, for a v1 controller such as "memory" or for v2 (named "")."""
    own = (line.split(":", 2) for line in read_text(f"{proc}/cgroup").splitlines())
    path = next((path for _, controllers, path in own if hierarchy in controllers.split(",")), None)
    if path is None:
        return None
    path = _HOME.sub("", path)
    for line in read_text(f"{proc}/mountinfo").splitlines():
        mount, _, source = line.partition(" - ")
        root, point = (_unescape(field) for field in mount.split()[3:5])
        kind, _, options = source.split(maxsplit=2)
        fits = kind == "cgroup2" if not hierarchy else kind == "cgroup" and hierarchy in options.split(",")
        if fits and (path + "/").startswith(root.rstrip("/") + "/"):
            return os.path.normpath(f"{point}/{path[len(root.rstrip('/')) :]}")
    return None


def new_folder(parent: str) -> str:
    """Make the folder for this process's cgroups, after removing those of dead supervisors."""
    for abandoned in abandoned_folders(parent):
        remove_folder(abandoned)  # one with processes stays: `kill_strays` kills processes
    myself = read_process(os.getpid())
    path = f"{parent}/headway-{os.getpid()}-{myself.start_ticks if myself else 0}-{next(_counter)}"
    os.mkdir(path)
    return path


def abandoned_folders(parent: str) -> list[str]:
    """Return the folders of dead supervisors."""
    found = [(path, start_ticks, read_process(pid)) for path, pid, start_ticks in owned_folders(parent)]
    return [path for path, start_ticks, owner in found if owner is None or owner.start_ticks != start_ticks]


def owned_folders(parent: str) -> Iterator[tuple[str, int, int]]:
    """Yield (path, pid, start ticks) for the folder of each supervisor, dead or alive."""
    for name in list_folder(parent):
        if owned := _OWNED.fullmatch(name):
            yield f"{parent}/{name}", int(owned[1]), int(owned[2])


def attempt_name(key: str) -> str:
    """Return the name of an attempt's folder, without the number at its end that makes it unique."""
    prefix = name_prefix(key)
    is_whole = len(prefix) < len(_PREFIX) + _LONGEST_NAME
    return f"{prefix}~" if is_whole else f"{prefix}%{zlib.crc32(key.encode(errors='surrogateescape')):08x}~"


def name_prefix(key_prefix: str) -> str:
    """Return the common prefix of the folder names of all attempts whose keys have this prefix."""
    return _PREFIX + _UNSAFE.sub(lambda found: f"%{ord(found[0]):02x}", key_prefix)[:_LONGEST_NAME]


def remove_folder(path: str) -> bool:
    """Remove a cgroup and those in it; False if one of them still has processes."""
    for child in _children(path):
        remove_folder(child)
    try:
        os.rmdir(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return True


def processes_below(path: str) -> list[int]:
    """Return the living processes of a cgroup and of those in it: an attempt may make cgroups of its own."""
    return processes_in(path) + [pid for child in _children(path) for pid in processes_below(child)]


def processes_in(path: str) -> list[int]:
    """Return the living processes of the cgroup itself."""
    pids = map(int, read_text(f"{path}/cgroup.procs").split())
    return [pid for pid in pids if pid]  # 0: a process of another pid namespace


def read_amounts(path: str, names: re.Pattern[str]) -> dict[str, int]:
    """Read the lines `name value` of a file such as memory.stat."""
    return {name: int(value) for name, value in names.findall(read_text(path))}


def read_amount(path: str) -> int | None:
    """Read the number in a file; None if there is no such file or it says `max`."""
    text = read_text(path).strip()
    return int(text) if text.isdigit() else None


def write(path: str, text: str) -> None:
    """Write to a control file, which must exist, with a single system call."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def holds(path: str, pid: int) -> bool:
    """Whether a process, alive or not yet reaped, is in the cgroup at `path` or below it."""
    ending = "/".join(path.rsplit("/", 2)[-2:])  # supervisor's and attempt's folder: no other cgroup's path ends so
    return re.search(rf"/{re.escape(ending)}(/| |$)", read_text(f"/proc/{pid}/cgroup"), re.MULTILINE) is not None


def _children(path: str) -> list[str]:
    try:
        if os.stat(path).st_nlink == 2:  # a cgroup's link count is 2 plus the number of cgroups in it
            return []
        with os.scandir(path) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def read_text(path: str) -> str:
    """Read a file of /proc or of a cgroup; "" if that fails."""
    return read_file(path).decode(errors="surrogateescape")


def _unescape(field: str) -> str:
    return re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), field)
