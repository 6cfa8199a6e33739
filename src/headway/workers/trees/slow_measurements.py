"""Slow measurements, taken in threads: page tables of a large tree, a directory on a busy file server."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_BLOCK_BYTES = 512  # the unit of st_blocks on every file system
# The CPU time that all measurements of one kind may use: a tenth of one core for every eight cores of the machine.
_SHARE = 0.1 * max(1.0, (os.cpu_count() or 1) / 8)


class SlowMeasurements:
    """All slow measurements of one kind. They share a budget of CPU time: the more trees, the longer the intervals."""

    def __init__(self, pool: ThreadPoolExecutor, *, least_interval_s: float) -> None:
        self.pool = pool
        self._least_interval_s = least_interval_s
        self.costs_s: dict[SlowMeasurement, float] = {}  # CPU time of the last time each was taken

    def interval_s(self) -> float:
        """Return how long to wait after a measurement, given what all of them cost."""
        return max(self._least_interval_s, math.fsum(self.costs_s.values()) / _SHARE)


class SlowMeasurement:
    """One tree's slow measurement, taken repeatedly, never twice at a time; `tell` receives each result."""

    def __init__(self, measurements: SlowMeasurements, tell: Callable[[int], None]) -> None:
        self._all = measurements
        self._tell = tell
        self._due_s = 0.0
        self._under_way = False
        self._ended = False

    def wait(self, until_s: float) -> None:
        """Measure nothing before this time."""
        self._due_s = until_s

    def take_if_due(self, now_s: float, measure: Callable[[], int], *, hurry: bool = False) -> None:
        """Start measuring, unless the last time is too recent for its cost; with `hurry` the cost does not matter."""
        if not self._under_way and (hurry or now_s >= self._due_s):
            self._under_way = True
            measuring = asyncio.get_running_loop().run_in_executor(self._all.pool, _timed, measure)
            measuring.add_done_callback(self._done)

    def end(self) -> None:
        """Measure no more, and ignore the result of a measurement that is under way."""
        self._ended = True
        self._all.costs_s.pop(self, None)

    def _done(self, future: asyncio.Future[tuple[int, float]]) -> None:
        self._under_way = False
        if self._ended or future.cancelled():
            return
        value, self._all.costs_s[self] = future.result()
        self._due_s = time.monotonic() + self._all.interval_s()
        self._tell(value)


def _timed(measure: Callable[[], int]) -> tuple[int, float]:
    began_s = time.thread_time()
    return measure(), time.thread_time() - began_s


def directory_bytes(path: str) -> int:
    """Return the disk space of `path` and everything below it.

    Counts allocated blocks, not file lengths, since blocks fill the disk and the quota: only the written parts of a
    sparse file count, and a file of one byte counts as a whole block. A file with several hard links counts once.
    Symbolic links are not followed, other file systems mounted below are left out, and vanished entries are skipped.
    """
    try:
        top = os.stat(path)
    except OSError:
        return 0
    blocks = top.st_blocks
    linked: set[int] = set()
    waiting = [path]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_dev != top.st_dev or status.st_ino in linked:
                    continue
                blocks += status.st_blocks
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif status.st_nlink > 1:
                    linked.add(status.st_ino)
    return blocks * _BLOCK_BYTES
