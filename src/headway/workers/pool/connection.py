"""The manager's end of a connection through the pool."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headway.workers import protocol
from headway.workers.connection import Connection
from headway.workers.pool.operations import CONNECT, GOODBYE

if TYPE_CHECKING:
    from distributed.comm.core import Comm

_GOODBYE_WITHIN_S = 5.0


class DaskConnection(Connection):
    """A connection to a node's relay. Both ends send bytes: any number of lines and parts of lines at a time."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self._incoming = asyncio.StreamReader(limit=protocol.LONGEST_LINE_BYTES)
        self._unsent = bytearray()
        self._something_to_send = asyncio.Event()
        self._all_sent = asyncio.Event()
        self._all_sent.set()
        self._closing = False
        self._receiving = asyncio.create_task(self._receive())
        self._sending = asyncio.create_task(self._send())

    async def greeted(self) -> bool:
        """Receive the supervisor's greeting; return False if there is no supervisor at the other end."""
        hello = await self.receive()
        if not isinstance(hello, protocol.Hello):
            return False
        self.hello = hello
        return True

    def send(self, message: protocol.Message) -> None:
        if not self._closing and not self._sending.done():
            self._unsent += protocol.encode(message)
            self._something_to_send.set()
            self._all_sent.clear()

    async def receive(self) -> protocol.ToManager | None:
        try:
            line = await self._incoming.readline()
            return protocol.decode_from_supervisor(line) if line.endswith(b"\n") else None
        except ValueError:  # too long, or not a message
            return None

    async def flush(self) -> None:
        await self._all_sent.wait()

    def close(self) -> None:
        self._closing = True
        self._something_to_send.set()

    @property
    def is_over(self) -> bool:
        """Whether the connection is lost or closed."""
        return self._sending.done()

    async def closed(self) -> None:
        """Wait until the connection is closed, after its last messages were sent."""
        await asyncio.wait([self._sending])

    async def _receive(self) -> None:
        try:
            while True:
                self._incoming.feed_data(await self._comm.read())
        except OSError:
            return  # lost or closed
        finally:
            self._incoming.feed_eof()
            self._something_to_send.set()

    async def _send(self) -> None:
        """Send what is unsent, all of it in one Dask message at a time."""
        try:
            await self._comm.write({"op": CONNECT, "reply": False})
            while not self._receiving.done():
                if self._unsent:
                    lines, self._unsent = bytes(self._unsent), bytearray()
                    await self._comm.write(lines)
                elif self._closing:
                    # The relay closes the connection, not this end. If messages to this end are on their way, closing
                    # it here would be a reset, which discards what the relay has not read.
                    await self._comm.write(GOODBYE)
                    await asyncio.wait([self._receiving], timeout=_GOODBYE_WITHIN_S)
                    return
                else:
                    self._all_sent.set()
                    self._something_to_send.clear()
                    await self._something_to_send.wait()
        except OSError:
            return  # `receive` returns None
        finally:
            self._comm.abort()
            self._all_sent.set()
