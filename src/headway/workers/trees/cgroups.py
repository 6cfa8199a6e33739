"""What cgroup v1 and v2 have in common: where our own cgroup is, and folders in it that come and go.

Everything of ours is in a folder `headway-<pid>-<start>-<n>` that names the supervisor by pid and start time, so that
whoever finds it can tell whether its owner still lives; in it one folder an attempt, named by the attempt's key.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import zlib
from collections.abc import Iterator

from headway.workers.trees.processes import read_process

HOME = "supervisor"  # where a v2 supervisor puts itself; to look for a place of one's own in there would be wrong
_OWNED = re.compile(r"headway-(\d+)-(\d+)-\d+")
_HOME = re.compile(rf"(/{_OWNED.pattern}/{HOME})+$")
_UNSAFE = re.compile(r"[^A-Za-z0-9_,=+\[\]-]")
_PREFIX = "task-"
_LONGEST_NAME = 200  # of the 255 bytes a file name may have; longer keys are cut and get a checksum
_counter = itertools.count(1)

# The kernel's limit counts what it holds for the processes, too: page tables, stacks, slabs. Measured on Linux 6.18:
# 0.2 % of what is densely mapped (20 MB to 4 GB, 1 to 100 processes), and up to 1.4 MB while a process starts. So it
# gets this much more than was allocated: a command must never be killed below its allocation, and what lies between
# the two is the looks' to find.
_KERNEL_SHARE = 0.02
_KERNEL_BYTES = 4 << 20


def own_directory(hierarchy: str, proc: str = "/proc/self") -> str | None:
    """Where this process's own cgroup is: of a v1 controller such as "memory", or of v2 (named "")."""
    path = _own_path(hierarchy, proc)
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


def _own_path(hierarchy: str, proc: str) -> str | None:
    for line in read_text(f"{proc}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if hierarchy in controllers.split(","):
            return path
    return None


def new_folder(parent: str) -> str:
    """A folder for this process's groups, after sweeping out what dead supervisors have left."""
    sweep(parent)
    myself = read_process(os.getpid())
    path = f"{parent}/headway-{os.getpid()}-{myself.start_ticks if myself else 0}-{next(_counter)}"
    os.mkdir(path)
    return path


def sweep(parent: str) -> None:
    """Remove the folders of supervisors that are gone. One with processes stays: killing is `kill_strays`' work."""
    for path in abandoned_folders(parent):
        remove_folder(path)


def abandoned_folders(parent: str) -> list[str]:
    """The folders of supervisors that are gone."""
    found = [(path, start_ticks, read_process(pid)) for path, pid, start_ticks in owned_folders(parent)]
    return [path for path, start_ticks, owner in found if owner is None or owner.start_ticks != start_ticks]


def owned_folders(parent: str) -> Iterator[tuple[str, int, int]]:
    """(path, pid, start ticks) of every supervisor's folder."""
    for name in _list(parent):
        if owned := _OWNED.fullmatch(name):
            yield f"{parent}/{name}", int(owned[1]), int(owned[2])


def folders_in(folder: str, beginning: str) -> list[str]:
    """The attempts' folders in a supervisor's whose names begin so."""
    return [f"{folder}/{name}" for name in _list(folder) if name.startswith(beginning)]


def attempt_name(key: str) -> str:
    """The name of an attempt's folder, up to a number that makes it unique."""
    beginning = name_beginning(key)
    whole = len(beginning) < len(_PREFIX) + _LONGEST_NAME
    return f"{beginning}~" if whole else f"{beginning}%{zlib.crc32(key.encode(errors='surrogateescape')):08x}~"


def name_beginning(key_beginning: str) -> str:
    """How the names of the folders of all attempts begin whose keys begin so."""
    return _PREFIX + _UNSAFE.sub(lambda found: f"%{ord(found[0]):02x}", key_beginning)[:_LONGEST_NAME]


def kernel_limit_bytes(memory_bytes: int) -> int:
    """The limit to set for an allocation of `memory_bytes`."""
    return memory_bytes + int(memory_bytes * _KERNEL_SHARE) + _KERNEL_BYTES


def remove_folder(path: str) -> bool:
    """Remove a cgroup and those in it; False if one of them has processes yet."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        below = [remove_folder(child) for child in _children(path)]
        if not below or not all(below):
            return False
        with contextlib.suppress(OSError):
            os.rmdir(path)
            return True
        return False
    return True


def processes_below(path: str) -> list[int]:
    """The living processes of a cgroup and of those in it: an attempt may make cgroups of its own."""
    pids = processes_in(path)
    for child in _children(path):
        pids += processes_below(child)
    return pids


def processes_in(path: str) -> list[int]:
    """The living processes of a cgroup itself."""
    pids = map(int, read_text(f"{path}/cgroup.procs").split())
    return [pid for pid in pids if pid]  # 0: a process of another pid namespace


def read_amounts(path: str, names: re.Pattern[str]) -> dict[str, int]:
    """`name value` lines of a file such as memory.stat."""
    return {name: int(value) for name, value in names.findall(read_text(path))}


def read_amount(path: str) -> int | None:
    """The number in a file; None if the file is not there or says `max`."""
    text = read_text(path).strip()
    return int(text) if text.isdigit() else None


def write(path: str, text: str) -> None:
    """Write to a control file: it must exist, and it takes what it is given in one piece."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def holds(path: str, pid: int) -> bool:
    """Whether a process, alive or not yet reaped, is in the cgroup at `path` or below it."""
    place = "/".join(path.rsplit("/", 2)[-2:])  # our folder and the attempt's: no other cgroup ends like this
    return re.search(rf"/{re.escape(place)}(/| |$)", read_text(f"/proc/{pid}/cgroup"), re.MULTILINE) is not None


def _children(path: str) -> list[str]:
    try:
        if os.stat(path).st_nlink == 2:  # a cgroup's link count is 2 and one for each cgroup in it
            return []
        with os.scandir(path) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _list(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def read_text(path: str) -> str:
    """A file of /proc or of a cgroup, "" if it cannot be read; without the cost of Python's file objects."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts).decode(errors="surrogateescape")
    except OSError:  # ENODEV: the cgroup is being removed
        return ""
    finally:
        os.close(fd)


def _unescape(field: str) -> str:
    return re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), field)
