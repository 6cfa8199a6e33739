"""`Line`: what connects a manager and a supervisor of the world. Messages arrive late, in order, perhaps twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from headway.workers import protocol
from headway.workers.connection import Connection, next_message
from tests.world.clock import Process, World

_LATE_S = 0.5


class Fate(Protocol):
    """Decides what happens to a message, and to those who send it."""

    def boundary(self, name: str) -> None: ...

    def echoes(self) -> bool: ...


class Direction:
    """One direction of a line."""

    def __init__(self, world: World, to: Process) -> None:
        self._world = world
        self._to = to
        self._last_at = 0.0
        self.reader = asyncio.StreamReader(limit=protocol.LONGEST_LINE_BYTES, loop=to.loop)
        self.is_open = True

    def write(self, line: bytes, times: int) -> None:
        for _ in range(times if self.is_open else 0):
            self._later(lambda: self.reader.feed_data(line))

    def hang_up(self) -> None:
        if self.is_open:
            self.is_open = False
            self._later(self.reader.feed_eof)

    def _later(self, act: Callable[[], None]) -> None:
        self._last_at = max(self._last_at, self._world.now + self._world.moment_s(_LATE_S))
        self._world.after(self._last_at - self._world.now, lambda: act() if self._to.alive else None)


class Line:
    """Both directions. When an end is killed, or the line breaks, what is on its way still arrives or not."""

    def __init__(self, world: World, manager: Process, node: Process, fate: Fate) -> None:
        self.world = world
        self.manager = manager
        self.node = node
        self.down = Direction(world, node)
        self.up = Direction(world, manager)
        self._fate = fate
        manager.at_end(self.hang_up)
        node.at_end(self.hang_up)

    @property
    def is_open(self) -> bool:
        return self.down.is_open

    def send(self, direction: Direction, line: bytes) -> None:
        self._fate.boundary("send")
        direction.write(line, 2 if self._fate.echoes() else 1)

    def hang_up(self) -> None:
        self.down.hang_up()
        self.up.hang_up()

    def cut(self) -> None:
        """Break: what is on its way is lost."""
        if self.is_open:
            self.down.is_open = self.up.is_open = False
            for reader, process in ((self.down.reader, self.node), (self.up.reader, self.manager)):
                if process.alive:
                    reader.feed_eof()
                reader.feed_data = lambda data: None  # type: ignore[method-assign]


class ManagersEnd(Connection):
    """The manager's end of a line."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def send(self, message: protocol.Message) -> None:
        if self._line.manager.alive:
            self._line.send(self._line.down, protocol.encode(message))

    async def receive(self) -> protocol.ToManager | None:
        return await next_message(self._line.up.reader)

    async def flush(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        if self._line.manager.alive:
            self._line.hang_up()


class SupervisorsEnd:
    """The supervisor's end of a line, as a writer of a stream."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def write(self, data: bytes) -> None:
        if self._line.node.alive:
            self._line.send(self._line.up, data)

    def is_closing(self) -> bool:
        return not self._line.is_open

    def close(self) -> None:
        if self._line.node.alive:
            self._line.hang_up()
