"""`Stream`: one sender and any number of viewers of server-sent events. A slow viewer delays nobody."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

STILL_HERE_EVERY_S = 15.0
_REMEMBERED = 64


def message(event: str, body: bytes) -> bytes:
    """One server-sent event; `body` is JSON, which has no line breaks."""
    return b"event: " + event.encode() + b"\ndata: " + body + b"\n\n"


class Stream:
    """The last changes, by number. Nothing is kept for a viewer but the number of the last change that it has."""

    def __init__(self) -> None:
        self.version = 0
        self.viewers = 0
        self._changes: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._news = asyncio.Event()

    def publish(self, change: bytes) -> None:
        """Wake all viewers."""
        self.version += 1
        self._changes.append(change)
        news, self._news = self._news, asyncio.Event()
        news.set()

    def since(self, version: int) -> list[bytes] | None:
        """The changes after one; None if they are not known any more."""
        missed = self.version - version
        return list(self._changes)[len(self._changes) - missed :] if missed <= len(self._changes) else None

    async def events(self, whole: Callable[[], bytes]) -> AsyncIterator[bytes]:
        """All that a viewer is sent: everything once, then each change; everything again after it missed too much."""
        self.viewers += 1
        try:
            version = self.version
            yield whole()
            while True:
                if self.version == version:
                    try:
                        await asyncio.wait_for(self._news.wait(), STILL_HERE_EVERY_S)
                    except TimeoutError:
                        yield b": still here\n\n"
                    continue
                missed, version = self.since(version), self.version
                if missed is None:
                    yield whole()
                for change in missed or ():
                    yield change
        finally:
            self.viewers -= 1
