"""Lines through the shared file system: nothing listens, nobody connects."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from headway.workers import protocol
from headway.workers.backoff import Backoff
from headway.workers.connection import Connection, Connections
from headway.workers.file_session import HEARTBEAT_EVERY_S, Session
from headway.workers.node import node_command, node_folder

_HEARD_WITHIN_S = 10.0  # if nobody reads it by then, nobody will


class FileConnections(Connections):
    """A folder for each connection in the node's; see `file_session`."""

    name = "files"

    def __init__(self, jobs: Path) -> None:
        self._jobs = jobs

    def node_command(self, tag: str) -> Sequence[str]:
        return node_command(self._jobs / tag, self.name)

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        folder = node_folder(self._jobs / tag, node)
        session: Session | None = None
        try:
            async with asyncio.timeout(timeout_s):
                while not await asyncio.to_thread(folder.is_dir):
                    await asyncio.sleep(0.1)
                session = await asyncio.to_thread(Session.begin, folder)
                line = FileConnection(session)
                hello = await line.receive()
                if isinstance(hello, protocol.Hello):
                    line.hello = hello
                    return line
        except (TimeoutError, FileNotFoundError):
            if session is not None:
                session.end()
        return None


class FileConnection(Connection):
    """The manager's end of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said: list[bytes] = []
        self._heard: deque[bytes] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._lost = False
        self._pace = Backoff()
        self._busy = True  # something was heard, or said, not long ago
        self._sign_at = 0.0

    def send(self, message: protocol.Message) -> None:
        self._said.append(protocol.encode(message))
        self._busy = True
        if self._sending is None or self._sending.done():  # all that is said in one go becomes one file
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._said and not self._lost:
            await asyncio.sleep(0)
            lines, self._said = self._said, []
            try:
                await asyncio.to_thread(self._session.write, b"".join(lines))
            except FileNotFoundError:
                self._lost = True

    async def receive(self) -> protocol.ToManager | None:
        loop = asyncio.get_running_loop()
        try:
            while not self._heard:
                if self._lost:
                    return None
                if loop.time() > self._sign_at:
                    await asyncio.to_thread(self._session.send_heartbeat)
                    self._sign_at = loop.time() + HEARTBEAT_EVERY_S
                self._heard.extend(await asyncio.to_thread(self._session.read))
                if not self._heard:
                    await self._pace.wait(busy=self._busy)
                self._busy = bool(self._heard)
            return protocol.decode_from_supervisor(self._heard.popleft())
        except (FileNotFoundError, ValueError):  # the relay has hung up; or a broken file system
            self._lost = True
            return None

    async def flush(self) -> None:
        """Until the relay has read it: hanging up takes away what lies there."""
        if self._sending is not None:
            await self._sending
        pace = Backoff()
        deadline = asyncio.get_running_loop().time() + _HEARD_WITHIN_S
        while asyncio.get_running_loop().time() < deadline and await asyncio.to_thread(self._session.is_unread):
            await pace.wait(busy=False)

    def close(self) -> None:
        self._lost = True
        self._session.end()
