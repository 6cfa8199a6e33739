"""`QueueHere`: how long a job of some shape would wait, from a reading of the queue that is at most a minute old."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.api.waits_on_slurm import Queues, read_queues, wait_of_shape, waits_in
from headway.model.errors import HeadwayError, SiteError

_FRESH_S = 60.0
_PATIENCE_S = 20.0


class QueueHere:
    """Asks Slurm at most once a minute, however many people look; an error is remembered for as long."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reading: asyncio.Future[Queues] | None = None
        self._read_at = 0.0

    async def wait(self, nodes: int, cores: int, minutes: float) -> dict[str, Any]:
        """Return the wait of one shape, and those of several others."""
        old = self._reading is not None and self._reading.done() and time.monotonic() - self._read_at > _FRESH_S
        if self._reading is None or old:
            self._reading = _begin(lambda: read_queues({}, self._folder))
            self._read_at = time.monotonic()
        done, _ = await asyncio.wait([self._reading], timeout=_PATIENCE_S)
        if not done:  # a controller that is down; our commands wait for it longer than people at a page would
            raise SiteError("Slurm has not answered yet", todo="ask again in a minute, or look at `sinfo`")
        queues = self._reading.result()
        asked = await asyncio.to_thread(wait_of_shape, queues, nodes, cores, minutes * 60)
        others = await asyncio.to_thread(waits_in, queues)
        return others.document() | {"asked": asked}


def _begin(read: Callable[[], Queues]) -> asyncio.Future[Queues]:
    """Read in a thread that the end of the server does not wait for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Queues] = loop.create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # an error may find nobody waiting

    def work() -> None:
        with suppress(RuntimeError):  # the server has ended
            try:
                queues = read()
                loop.call_soon_threadsafe(future.set_result, queues)
            except HeadwayError as problem:
                loop.call_soon_threadsafe(future.set_exception, problem)

    threading.Thread(target=work, name="queue", daemon=True).start()
    return future
