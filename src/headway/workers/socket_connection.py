"""Connections on this machine: through the unix socket of the supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

from headway import locks
from headway.workers import protocol
from headway.workers.connection import Connection, Connections, next_message
from headway.workers.protocol import LOCK, SOCKET
from headway.workers.trees.processes import read_process
from headway.workers.unix_stream import open_stream

_LONG_SILENCE_S = 15.0  # a busy machine may take seconds to answer


class SocketConnections(Connections):
    """Connections to jobs that have one node, this machine. The supervisor listens in the job's folder."""

    name = "socket"

    def key(self, tag: str, node: str) -> str:
        return node

    def __init__(self, jobs: Path) -> None:
        super().__init__(jobs)
        self._silent_since: dict[str, float] = {}  # by job: since when its supervisor has not answered

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        connection = await SocketConnection.open(self._jobs / tag, timeout_s)
        if connection is not None:
            self._silent_since.pop(tag, None)
            self.trouble = ""
            return connection
        silent_s = time.monotonic() - self._silent_since.setdefault(tag, time.monotonic())
        self.trouble = _why_silent(self._jobs / tag / LOCK, silent_s) or self.trouble
        return None


def _why_silent(lock: Path, silent_s: float) -> str:
    """Say what the run waits for, if a living supervisor is stopped or has not answered for long."""
    pid = locks.holder(lock)
    process = read_process(int(pid)) if pid else None
    if process is not None and process.stopped:
        return f"the supervisor, process {pid}, is stopped by a signal: `kill -CONT {pid}` lets it go on"
    if process is not None and silent_s > _LONG_SILENCE_S:
        return f"the supervisor, process {pid}, does not answer: `kill -9 {pid}` starts another one"
    return ""


class SocketConnection(Connection):
    """The manager's end of the supervisor's unix socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, folder: Path, timeout_s: float) -> SocketConnection | None:
        """Connect to the supervisor in this job folder; None if it does not answer within `timeout_s`."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    return await cls._try(folder)
            except OSError:  # includes TimeoutError
                if asyncio.get_running_loop().time() > deadline:
                    return None
                await asyncio.sleep(0.01)

    @classmethod
    async def _try(cls, folder: Path) -> SocketConnection:
        reader, writer = await open_stream(folder, SOCKET)
        connection = cls(reader, writer)
        if not await connection.is_greeted():
            raise OSError("not a supervisor")
        return connection

    def send(self, message: protocol.Message) -> None:
        if not self._writer.is_closing():
            self._writer.write(protocol.encode(message))

    async def receive(self) -> protocol.ToManager | None:
        return await next_message(self._reader)

    async def flush(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    def close(self) -> None:
        self._writer.close()
