"""Looks that can take long (page tables of a large tree, a directory on a busy file server), off the event loop."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

# Of the machine's time, for all looks of a kind together: a tenth of one core, on a large node of every eighth one.
_SHARE = 0.1 * max(1.0, (os.cpu_count() or 1) / 8)


class SlowMeasurements:
    """All slow looks of one kind, taken in threads. What they may cost is shared among them."""

    def __init__(self, pool: ThreadPoolExecutor, *, least_interval_s: float) -> None:
        self._pool = pool
        self._least_interval_s = least_interval_s
        self._costs_s: dict[SlowMeasurement, float] = {}  # of the last look of each that is in use

    def new(self, tell: Callable[[int], None]) -> SlowMeasurement:
        """A new one, for one tree."""
        return SlowMeasurement(self, tell)

    def start(self, measure: Callable[[], int]) -> asyncio.Future[tuple[int, float]]:
        """Take one now: what it found and what it cost."""
        return asyncio.get_running_loop().run_in_executor(self._pool, _timed, measure)

    def interval_s(self, measurement: SlowMeasurement, cost_s: float) -> float:
        """How long to wait after a look of that cost."""
        self._costs_s[measurement] = cost_s
        return max(self._least_interval_s, math.fsum(self._costs_s.values()) / _SHARE)

    def forget(self, measurement: SlowMeasurement) -> None:
        """It is not in use any more."""
        self._costs_s.pop(measurement, None)


class SlowMeasurement:
    """One tree's slow look, taken again and again, never twice at a time."""

    def __init__(self, looks: SlowMeasurements, tell: Callable[[int], None]) -> None:
        self._looks = looks
        self._tell = tell
        self._due_s = 0.0
        self._under_way = False
        self._ended = False

    def wait(self, until_s: float) -> None:
        """Take none before that time."""
        self._due_s = until_s

    def take_if_due(self, now_s: float, measure: Callable[[], int], *, hurry: bool = False) -> None:
        """Take one unless the last one was too recent for what it cost; in a hurry cost does not matter."""
        if not self._under_way and (hurry or now_s >= self._due_s):
            self._under_way = True
            self._looks.start(measure).add_done_callback(self._done)

    def end(self) -> None:
        """No more looks, and no news of one that is under way."""
        self._ended = True
        self._looks.forget(self)

    def _done(self, future: asyncio.Future[tuple[int, float]]) -> None:
        self._under_way = False
        if self._ended or future.cancelled():
            return
        value, cost_s = future.result()
        self._due_s = time.monotonic() + self._looks.interval_s(self, cost_s)
        self._tell(value)


def _timed(measure: Callable[[], int]) -> tuple[int, float]:
    began_s = time.thread_time()
    return measure(), time.thread_time() - began_s
