"""The connection of a run's manager to a pool, which it takes for the supervisor of one large node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from headway.model.resources import Resources
from headway.workers import protocol
from headway.workers.connection import Connection, Connections
from headway.workers.group_access import open_to_group
from headway.workers.home import Home
from headway.workers.pool_place import PoolPlace, PoolRefusedError
from headway.workers.socket_connection import SocketConnection

_AGAIN_S = 0.2


class PooledConnections(Connections):
    """Connections to a pool. One that was killed is waited for: what it has of the run is not lost."""

    name = "pool"

    def __init__(
        self, jobs: Path, place: PoolPlace, join: protocol.Join, part: Callable[[Resources], Resources]
    ) -> None:
        """`part` says how much the run may use of what the pool offers."""
        super().__init__(jobs)
        self._place = place
        self._join = join
        self._part = part

    def key(self, tag: str, node: str) -> str:
        return node

    def node_of(self, key: str) -> str:
        return key

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        try:
            async with asyncio.timeout(timeout_s):
                connection = await PooledConnection.join(self._place, self._join)
                connection.part = self._part
        except OSError:  # includes TimeoutError
            self.trouble = f"the pool {self._place.name!r} does not answer: `{self._place.start}` goes on with it"
            await asyncio.sleep(_AGAIN_S)
            return None
        self.trouble = ""
        return connection


class PooledConnection(SocketConnection):
    """The manager's end of a connection to a pool. What supervisors must know of the run is in its home file."""

    _home: Path
    _produced: Sequence[str] = ()
    _is_written = False
    _is_ours = True  # the pool runs under this account
    part: Callable[[Resources], Resources]

    @classmethod
    async def join(cls, place: PoolPlace, join: protocol.Join) -> PooledConnection:
        """Introduce the run to the pool; an OSError if nobody answers, a SiteError if the pool refuses."""
        reader, writer = await place.open()
        connection = cls(reader, writer)
        connection._home = Path(join.home)
        connection._is_ours = place.is_ours(writer.get_extra_info("socket"))
        if not connection._is_ours:
            open_to_group(connection._home.parents[1])
        connection.send(join)
        hello = await connection.receive()
        if isinstance(hello, protocol.Refused):
            connection.close()
            raise PoolRefusedError(hello.what)
        if not isinstance(hello, protocol.Hello):
            connection.close()
            raise OSError("not a pool")
        connection.hello = hello
        return connection

    async def receive(self) -> protocol.ToManager | None:
        message = await super().receive()
        return protocol.Room(self.part(message.room)) if isinstance(message, protocol.Room) else message

    def send(self, message: protocol.Message) -> None:
        if isinstance(message, protocol.Produced):
            self._produced, self._is_written = [*self._produced, *message.paths], False
            return
        if isinstance(message, protocol.Start) and not self._is_written:
            Home.write(self._home, self._produced, for_others=not self._is_ours)
            self._is_written = True
        super().send(message)
