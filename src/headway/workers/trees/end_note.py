"""The note on disk that tells how the first process of a command ended, before anyone is told.

It survives the supervisor and the spawner. It is an empty file, made before the command starts, which the command's
witness (`spawner`) renames when the command ends: `end` becomes `end,STATUS,STARTED,ENDED,CPU`. A rename is atomic and
needs no new block or inode, so that an end is noted although the command has used up all of the disk. A supervisor that
stops a command deletes the file first, since how such a command ends says nothing about its work: only one of the two
finds the file.
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple


class NotedEnd(NamedTuple):
    """How a first process ended. Times are seconds since the epoch."""

    status: int  # as `wait` returns it
    started_at: float
    ended_at: float
    cpu_s: float  # of this process, and of descendants that were waited for


def expect_end(path: str) -> None:
    """Make the file that is renamed when the command ends; OSError if there is no room for it."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def read_end(path: str) -> NotedEnd | None:
    """Return how the command ended by itself; None if that was not noted."""
    folder, name = os.path.split(path)
    with contextlib.suppress(OSError, ValueError):  # there is no such folder, or another program made such a name
        for found in os.listdir(folder):
            if found.startswith(f"{name},"):
                _, status, started_at, ended_at, cpu_s = found.split(",")
                return NotedEnd(int(status), float(started_at), float(ended_at), float(cpu_s))
    return None


def void_end(path: str) -> None:
    """Let no end be noted from now on: the command is about to be stopped."""
    if path:
        with contextlib.suppress(OSError):  # it has ended, or has removed its folder
            os.unlink(path)


def forget_end(path: str) -> None:
    """Delete the note, or the file that was to become one."""
    folder, name = os.path.split(path)
    for found in os.listdir(folder):
        if found == name or found.startswith(f"{name},"):
            os.unlink(f"{folder}/{found}")
