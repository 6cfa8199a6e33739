"""HTTP connections with limits: how many there are, and how long a caller may take to say what it wants."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from headway.dashboard.guard import MOST_HEADER_BYTES

MOST_CONNECTIONS = 500  # of the 1,024 files that a process may usually have open
REQUEST_WITHIN_S = 10.0


class LimitedConnection(H11Protocol):
    """A connection that is closed if its next request is not there in time.

    If there are too many connections, the one is closed that has been silent for longest; if all are at work, the new.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Watch a new connection."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > MOST_CONNECTIONS:
            others = (other for other in self.connections if isinstance(other, LimitedConnection) and other._deadline)
            silent = min(others, key=lambda other: other._deadline.when() if other._deadline else 0.0)
            silent.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Set the deadline while a request is awaited: it is not moved by a request that comes letter by letter."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._rest()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_WITHIN_S, self.transport.abort)

    def _rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def on_response_complete(self) -> None:
        """The answer is given; the next request has its own time."""
        self._rest()
        super().on_response_complete()


def limits() -> dict[str, Any]:
    """Settings of uvicorn that go with these connections."""
    return {
        "http": LimitedConnection,
        "ws": "none",
        "h11_max_incomplete_event_size": MOST_HEADER_BYTES,
        "timeout_keep_alive": 10,
        "timeout_graceful_shutdown": 1,
        "server_header": False,
        "proxy_headers": False,
        "access_log": False,  # addresses have tokens in them
        "log_config": None,
        "lifespan": "on",
    }
