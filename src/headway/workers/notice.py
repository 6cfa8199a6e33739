"""Notice before the end: SIGUSR1 to a task that asked for it, so that it can save its state in time."""

from __future__ import annotations

import asyncio
import signal
import time

from headway.workers.protocol import Start
from headway.workers.trees import ProcessTrees

_RETRY_S = 1.0  # while no process of the task has installed a handler


class Notice:
    """Sends SIGUSR1 once, `notice_s` before the time of the attempt or its job ends, to processes that handle it.

    The manager may have it sent earlier (`give`), if the task can go on in another job.
    """

    def __init__(self, start: Start, key: str, trees: ProcessTrees) -> None:
        self.given = False
        self._asked = False
        self._key = key
        self._trees = trees
        now = time.time()
        limit_s = start.limits.walltime_s
        ends = [start.ends_at, None if limit_s is None else now + limit_s]
        known = [end for end in ends if end is not None]
        self._giving: asyncio.Task[None] | None = None
        if start.task.notice_s and known:
            self._giving = asyncio.create_task(self._give(min(known) - start.task.notice_s - now))

    def give(self) -> None:
        """Give the notice now."""
        if not self._asked and not self.given:
            self._asked = True
            self.cancel()
            self._giving = asyncio.create_task(self._give(0.0))

    async def _give(self, wait_s: float) -> None:
        await asyncio.sleep(max(0.0, wait_s))
        while not self._trees.notify(self._key, signal.SIGUSR1):
            await asyncio.sleep(_RETRY_S)
        self.given = True

    def cancel(self) -> None:
        """Send no notice any more: the attempt has ended."""
        if self._giving is not None:
            self._giving.cancel()
