"""The manager's end of a line that the pool carries."""

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
    """A connection to a node's relay. Both ends send parts of the line as they come, whole lines or not."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm
        self._heard = asyncio.StreamReader(limit=protocol.LONGEST_LINE_BYTES)
        self._unsent = bytearray()
        self._something_to_send = asyncio.Event()
        self._all_sent = asyncio.Event()
        self._all_sent.set()
        self._closing = False
        self._listening = asyncio.create_task(self._listen())
        self._sending = asyncio.create_task(self._send())

    async def greeted(self) -> bool:
        """Whether there is a supervisor at the other end."""
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
            line = await self._heard.readline()
            return protocol.decode_from_supervisor(line) if line.endswith(b"\n") else None
        except ValueError:  # too long, or no message
            return None

    async def flush(self) -> None:
        await self._all_sent.wait()

    def close(self) -> None:
        self._closing = True
        self._something_to_send.set()

    @property
    def is_over(self) -> bool:
        """Whether it is lost or hung up."""
        return self._sending.done()

    async def closed(self) -> None:
        """Wait until it is: what was said last must get through before the connection goes."""
        await asyncio.wait([self._sending])

    async def _listen(self) -> None:
        try:
            while True:
                self._heard.feed_data(await self._comm.read())
        except OSError:
            return  # lost, or hung up
        finally:
            self._heard.feed_eof()
            self._something_to_send.set()

    async def _send(self) -> None:
        """All that is said in one go becomes one message."""
        try:
            await self._comm.write({"op": CONNECT, "reply": False})
            while not self._listening.done():
                if self._unsent:
                    lines, self._unsent = bytes(self._unsent), bytearray()
                    await self._comm.write(lines)
                elif self._closing:
                    # It is the relay who hangs up: news on their way would make this end's hanging up a reset, which
                    # takes away what the relay has not yet read.
                    await self._comm.write(GOODBYE)
                    await asyncio.wait([self._listening], timeout=_GOODBYE_WITHIN_S)
                    return
                else:
                    self._all_sent.set()
                    self._something_to_send.clear()
                    await self._something_to_send.wait()
        except OSError:
            return  # `hear` tells
        finally:
            self._comm.abort()
            self._all_sent.set()
