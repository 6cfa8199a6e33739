"""A file that is locked while its holder lives, and says who that is.

The kernel lets go of the lock when the holder's process ends, however it ends: unlike a file with a process id in it,
the lock cannot be left behind.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_PATIENCE_S = 0.2


def take(path: Path, words: str) -> int | None:
    """Hold the lock, with some words about the holder, until the handle is closed; None if somebody else holds it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # perhaps by somebody who only asks, for a moment, who holds it
            if time.monotonic() > deadline:
                os.close(handle)
                return None
            time.sleep(0.01)
        else:
            write(handle, words)
            return handle


def write(handle: int, words: str) -> None:
    """Change what the lock says of its holder."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, words.encode(), 0)


def holder(path: Path) -> str | None:
    """What the lock says of its holder; None if nobody holds it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, 1000).decode(errors="replace")
    finally:
        os.close(handle)
    return None
