"""Confinement of processes by the kernel (Landlock): where they may write, what they may read, whom they may signal.

A process that has confined itself stays so, with all processes that it starts. Nothing needs to be installed and no
privilege is needed; in return programs with the set-user-id bit, such as sudo, do not work there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

# The same numbers on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVILEGES = 38  # of prctl
_PATH_BENEATH = 1
_ASK_VERSION = 1
# Rights of linux/landlock.h. The last ones are to rename between directories, and to truncate.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGE_DIRECTORY = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
_WRITE = _WRITE_FILE | _CHANGE_DIRECTORY | _REFER | _TRUNCATE
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_SIGNALS = 1 << 1  # a scope: no signals to processes outside
_NEEDED, _HAS_SIGNALS = 3, 6  # versions: that can keep from truncating files, and that can keep from signals
# Where every process may write: what lies there is temporary, or a device, or guarded by its own permissions.
_SCRATCH = ("/tmp", "/var/tmp", "/dev", "/proc", "/sys/fs/cgroup")  # noqa: S108


def can_confine() -> bool:
    """Whether this kernel can confine processes."""
    return _version() >= _NEEDED


def confine_writing(folders: Sequence[str]) -> None:
    """Let this process and those that it starts write in these folders only."""
    _restrict({**dict.fromkeys(_SCRATCH, _WRITE), **dict.fromkeys(folders, _WRITE)}, _WRITE)


def confine_tasks(folders: Sequence[str], hidden: Sequence[str]) -> None:
    """Let this process and those that it starts write in these folders, read nothing `hidden`, and signal no others.

    The kernel knows what may be read, and not what may not: so everything beside the hidden directories is allowed.
    What is made directly beside them later can be read only by processes that are confined later. Folders in a hidden
    directory, and this Python, stay readable.
    """
    own = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[1]))
    scratch = [path for above in _SCRATCH for path in _beside(hidden, above)]
    rules = dict.fromkeys((*_beside(hidden), *own), _READ) | dict.fromkeys((*scratch, *folders), _READ | _WRITE)
    _restrict(rules, _READ | _WRITE, _SIGNALS if _version() >= _HAS_SIGNALS else 0)


def homes() -> list[str]:
    """The directories that this account has for itself."""
    known = [os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        known.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return [path for path in dict.fromkeys(map(os.path.realpath, filter(None, known))) if path != "/"]


def _beside(hidden: Sequence[str], top: str = "/") -> Iterator[str]:
    """Yield directories and files that together are everything below `top` but what is hidden."""
    secret = {os.path.realpath(path) for path in hidden}

    def look(folder: str) -> Iterator[str]:
        if folder in secret:
            return
        if not any(path.startswith(folder.rstrip("/") + "/") for path in secret):
            yield folder
            return
        try:
            with os.scandir(folder) as entries:
                paths = [entry.path for entry in entries if not entry.is_symlink()]
        except OSError:
            return
        for path in paths:
            yield from look(path)

    yield from look(top)


def _restrict(rules: dict[str, int], handled: int, scoped: int = 0) -> None:
    version = _version()
    if version < _NEEDED:
        raise OSError(0, "this kernel cannot confine tasks (it has no Landlock)")
    attributes = struct.pack("=QQQ", handled, 0, scoped)
    # Older kernels know fewer of the fields.
    size = 24 if version >= _HAS_SIGNALS else 8
    ruleset = _call(_CREATE_RULESET, attributes, size, 0)
    try:
        for path, rights in rules.items():
            _allow(ruleset, path, rights)
        if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "cannot give up new privileges")
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        entry = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there, or not for this account: then nothing has to be allowed
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, entry), 0)
    finally:
        os.close(entry)


def _version() -> int:
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = _libc()
    libc.syscall.restype = ctypes.c_long
    given: Iterable[object] = (
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    )
    done = int(libc.syscall(ctypes.c_long(number), *given))
    if done < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return done
