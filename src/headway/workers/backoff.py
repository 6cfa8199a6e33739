"""How often to look at a folder: soon after something happened, ever more seldom when nothing does."""

from __future__ import annotations

import asyncio

_SHORTEST_S, _LONGEST_S, _GROWTH = 0.02, 1.0, 1.3


class Backoff:
    """Waits between looks."""

    def __init__(self) -> None:
        self._pause_s = _SHORTEST_S

    async def wait(self, *, busy: bool) -> None:
        """Until the next look; `busy`: the last one found something."""
        self._pause_s = _SHORTEST_S if busy else min(_LONGEST_S, self._pause_s * _GROWTH)
        await asyncio.sleep(self._pause_s)
