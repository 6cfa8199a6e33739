"""Looks that can take long (page tables of a large tree, a directory on a busy file server): kept off the event loop."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_THREADS = 8  # for all attempts together; they wait for the kernel, not for Python
_SHARE = 0.1  # of one core, for all looks of a kind together; of an eighth of the cores on a large node
_CORES = max(1.0, (os.cpu_count() or 1) / 8)


class SlowLooks:
    """All slow looks of one kind: together they may take a tenth of a core."""

    def __init__(self, pool: ThreadPoolExecutor, *, least_interval_s: float) -> None:
        self._pool = pool
        self._least_interval_s = least_interval_s
        self._costs_s: dict[SlowLook, float] = {}  # of those that are in use

    def look(self, measure: Callable[[], int], tell: Callable[[int], None]) -> SlowLook:
        """A new one, for one attempt."""
        return SlowLook(self, measure, tell)

    async def once(self, measure: Callable[[], int]) -> int:
        """A look that has to be taken, whatever it costs."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, measure)

    def start(self, look: SlowLook, measure: Callable[[], int]) -> asyncio.Future[tuple[int, float]]:
        """Take one now, in a thread."""
        self._costs_s.setdefault(look, 0.0)

        def timed() -> tuple[int, float]:
            began_s = time.thread_time()
            return measure(), time.thread_time() - began_s

        return asyncio.get_running_loop().run_in_executor(self._pool, timed)

    def interval_s(self, look: SlowLook, cost_s: float) -> float:
        """How long to wait after a look of that cost."""
        self._costs_s[look] = cost_s
        return max(self._least_interval_s, math.fsum(self._costs_s.values()) / (_SHARE * _CORES))

    def forget(self, look: SlowLook) -> None:
        """It is not in use any more."""
        self._costs_s.pop(look, None)


class SlowLook:
    """One attempt's slow look, taken again and again, never twice at a time."""

    def __init__(self, looks: SlowLooks, measure: Callable[[], int], tell: Callable[[int], None]) -> None:
        self._looks = looks
        self._measure = measure
        self._tell = tell
        self._due_s = 0.0
        self._under_way = False
        self._ended = False

    def take_if_due(self, now_s: float, *, hurry: bool = False) -> None:
        """Take one unless the last one was too recent for what it cost; in a hurry cost does not matter."""
        if self._under_way or (now_s < self._due_s and not hurry):
            return
        self._under_way = True
        self._looks.start(self, self._measure).add_done_callback(self._done)

    def wait(self, until_s: float) -> None:
        """Take none before that time."""
        self._due_s = until_s

    def end(self) -> None:
        """No more looks, and no news of one that is under way."""
        self._ended = True
        self._looks.forget(self)

    def _done(self, future: asyncio.Future[tuple[int, float]]) -> None:
        self._under_way = False
        if self._ended or future.cancelled() or future.exception():
            self._looks.forget(self)
            return
        value, cost_s = future.result()
        self._due_s = asyncio.get_running_loop().time() + self._looks.interval_s(self, cost_s)
        self._tell(value)


def slow_pool() -> ThreadPoolExecutor:
    """The threads for slow looks; started only when there is something to do."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="headway-look")
