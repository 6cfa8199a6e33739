"""Connections through files on a shared file system, for sites that allow no network connections between nodes."""

from __future__ import annotations

import asyncio
from collections import deque

from headway.workers import protocol
from headway.workers.connection import Connection, Connections
from headway.workers.file_session import HEARTBEAT_EVERY_S, Backoff, Session
from headway.workers.node import node_folder

_FLUSH_WITHIN_S = 10.0  # a relay that has not read the last messages by then is gone


class FileConnections(Connections):
    """Each connection is a session: a folder in the node's folder (see `file_session`)."""

    name = "files"

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        folder = node_folder(self._jobs / tag, node)
        session: Session | None = None
        try:
            async with asyncio.timeout(timeout_s):
                while not await asyncio.to_thread(folder.is_dir):
                    await asyncio.sleep(0.1)
                session = await asyncio.to_thread(Session.begin, folder)
                connection = FileConnection(session)
                if await connection.is_greeted():
                    return connection
        except (TimeoutError, FileNotFoundError):
            if session is not None:
                session.end()
        return None


class FileConnection(Connection):
    """The manager's end of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._outgoing: list[bytes] = []
        self._incoming: deque[bytes] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._lost = False
        self._backoff = Backoff()
        self._busy = True  # a message was sent or received since the last poll
        self._heartbeat_at = 0.0

    def send(self, message: protocol.Message) -> None:
        self._outgoing.append(protocol.encode(message))
        self._busy = True
        if self._sending is None or self._sending.done():  # messages sent in one turn of the loop share one file
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._outgoing and not self._lost:
            await asyncio.sleep(0)
            lines, self._outgoing = self._outgoing, []
            try:
                await asyncio.to_thread(self._session.write, b"".join(lines))
            except FileNotFoundError:
                self._lost = True

    async def receive(self) -> protocol.ToManager | None:
        loop = asyncio.get_running_loop()
        try:
            while not self._incoming:
                if self._lost:
                    return None
                if loop.time() > self._heartbeat_at:
                    await asyncio.to_thread(self._session.send_heartbeat)
                    self._heartbeat_at = loop.time() + HEARTBEAT_EVERY_S
                self._incoming.extend(await asyncio.to_thread(self._session.read))
                if not self._incoming:
                    await self._backoff.wait(busy=self._busy)
                self._busy = bool(self._incoming)
            return protocol.decode_from_supervisor(self._incoming.popleft())
        except (FileNotFoundError, ValueError):  # the relay ended the session, or the file system is broken
            self._lost = True
            return None

    async def flush(self) -> None:
        """Wait until the relay has read all messages: closing the session deletes unread ones."""
        if self._sending is not None:
            await self._sending
        backoff = Backoff()
        deadline = asyncio.get_running_loop().time() + _FLUSH_WITHIN_S
        while asyncio.get_running_loop().time() < deadline and await asyncio.to_thread(self._session.is_unread):
            await backoff.wait(busy=False)

    def close(self) -> None:
        self._lost = True
        self._session.end()
