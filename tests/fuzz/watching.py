"""Notes what this process does to the world, by Python's audit hooks: files written, programs started, and the like."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_FORBIDDEN = (
    *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.kill", "socket.connect"),
    *("socket.bind", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.chown"),
    *("os.truncate", "shutil.rmtree", "pickle.find_class", "urllib.Request", "webbrowser.open"),
)
_OWN_CODE = ("__pycache__", "headway-kernels", "numba", "/dev/null")  # where Python and kernels keep compiled code


class _Watch:
    """An audit hook stays for ever: this says whether it counts now, and what it has seen."""

    on = False
    installed = False
    seen = ""
    others: frozenset[int] = frozenset()  # threads that were there before: of an earlier test's executor, say


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _Watch.on or _Watch.seen or threading.get_ident() in _Watch.others:
        return
    if event in _FORBIDDEN and not _is_ours(arguments[0] if arguments else 0):
        _Watch.seen = f"{event}{arguments[:2]!r}"[:200]
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES and not _is_ours(arguments[0]):
        _Watch.seen = f"wrote {arguments[0]!r}"[:200]


def _is_ours(path: object) -> bool:
    return any(word in str(path) for word in _OWN_CODE)


@contextmanager
def watched() -> Iterator[None]:
    """Watch the process; afterwards `seen` says what it did."""
    if not _Watch.installed:
        sys.addaudithook(_hook)
        _Watch.installed = True
    _Watch.others = frozenset(sys._current_frames()) - {threading.get_ident()}
    _Watch.seen, _Watch.on = "", True
    try:
        yield
    finally:
        _Watch.on = False


@contextmanager
def unwatched() -> Iterator[None]:
    """What a test itself has to do in between does not count."""
    before, _Watch.on = _Watch.on, False
    try:
        yield
    finally:
        _Watch.on = before


def forget() -> None:
    """Begin anew with what was seen."""
    _Watch.seen = ""


def seen() -> str:
    """The first thing that was done to the world while it was watched; empty if nothing was."""
    return _Watch.seen
