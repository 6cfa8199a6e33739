"""The pause between two polls of a folder: short after a poll that found something, growing while there is nothing."""

from __future__ import annotations

import asyncio

_SHORTEST_S, _LONGEST_S, _GROWTH = 0.02, 1.0, 1.3


class Backoff:
    """Waits between polls."""

    def __init__(self) -> None:
        self._pause_s = _SHORTEST_S

    async def wait(self, *, busy: bool) -> None:
        """Wait until the next poll is due. `busy` says that the last poll found something."""
        self._pause_s = _SHORTEST_S if busy else min(_LONGEST_S, self._pause_s * _GROWTH)
        await asyncio.sleep(self._pause_s)
