"""The note that is left on disk when the first process of a command ends, before anyone is told.

It survives the supervisor and the spawner. The spawner creates the file, and only if there is none: a supervisor that
stops a command creates an empty file first, since how such a command ends says nothing about its work.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from headway.workers.trees import spawner
from headway.workers.trees.processes import read_file


class NotedEnd(NamedTuple):
    """How a first process ended. Times are seconds since the epoch."""

    status: int  # as `wait` returns it
    started_at: float
    ended_at: float
    cpu_s: float  # of this process, and of descendants that were waited for


def read_end(path: str) -> NotedEnd | None:
    """Return how the command ended by itself; None if that was not noted."""
    words = read_file(path).split() if path else []
    try:
        status, started_at, ended_at, cpu_s = words
        return NotedEnd(int(status), float(started_at), float(ended_at), float(cpu_s))
    except ValueError:  # empty, or cut off on a full disk
        return None


def void_end(path: str) -> None:
    """Let no end be noted from now on: the command is about to be stopped."""
    if path:
        spawner.create_note(os.fsencode(path), b"")
