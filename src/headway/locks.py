"""Lock files: locked while their holder lives, with a text about the holder.

The kernel releases the lock when the holder's process ends, however it ends. Unlike a file with a process id in it, the
lock cannot be left behind.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_WAIT_S = 0.2


def take(path: Path, text: str) -> int | None:
    """Lock the file, write `text` about the holder into it and return its handle; None if another process holds it.

    The lock is held until the handle is closed.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # perhaps held for a moment by a process that calls `holder`
            if time.monotonic() > deadline:
                os.close(handle)
                return None
            time.sleep(0.01)
        else:
            write(handle, text)
            return handle


def write(handle: int, text: str) -> None:
    """Replace the text about the holder."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


def holder(path: Path) -> str | None:
    """Return the text about the lock's holder; None if no process holds the lock."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, 1000).decode(errors="replace")
    finally:
        os.close(handle)
    return None
