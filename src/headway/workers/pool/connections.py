"""The manager's connections to its nodes through a pool of Dask workers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headway import locks
from headway.model.errors import SiteError
from headway.workers import protocol
from headway.workers.connection import Connection, Connections, next_message
from headway.workers.node import start_apart
from headway.workers.pool import address
from headway.workers.pool.address import CONNECT, FIND, GOODBYE, LOCK, SchedulerAddress, name_in_pool
from headway.workers.pool.keys import make_keys, security

if TYPE_CHECKING:
    from distributed.comm.core import Comm

_POLL_S = 0.1
_GOODBYE_WITHIN_S = 5.0
_START_WITHIN_S = 60.0  # for a scheduler to start, on a busy login node

_log = logging.getLogger(__name__)


class DaskConnections(Connections):
    """The pool of one run. Its scheduler is started if none answers, and outlives the manager.

    `host` is the address that the scheduler listens on, which the nodes must be able to reach; by default all addresses
    of this host. `linger_s` is how long the scheduler waits without managers and nodes before it ends.
    """

    name = "dask"

    def __init__(self, jobs: Path, pool: Path, host: str | None = None, linger_s: float = 600.0) -> None:
        super().__init__(jobs)
        self._pool = pool
        self._host = host
        self._linger_s = linger_s
        self._reaching: asyncio.Task[Comm] | None = None
        self._asking = asyncio.Lock()
        self._connections: set[DaskConnection] = set()
        self._tls: Mapping[str, Any] = {}

    async def open(self) -> None:
        try:
            make_keys(self._pool)
        except OSError as error:
            raise SiteError(f"cannot make the pool's keys: {error.strerror}", where=str(self._pool)) from error
        except ImportError as error:
            todo = "`pip install 'headway[slurm]'`"
            raise SiteError(f"the pool needs the Python package {error.name}", todo=todo) from error
        self._tls = security(self._pool).get_connection_args("client")
        await self._scheduler()

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    for found in await self._find(name_in_pool(tag, node)):
                        if (connection := await self._call(found)) is not None:
                            return connection
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            return None

    async def close(self) -> None:
        for connection in self._connections:
            connection.close()
        if self._connections:
            await asyncio.wait([connection.sending for connection in self._connections])
        self._connections.clear()
        if self._reaching is not None:
            self._reaching.cancel()
            with contextlib.suppress(asyncio.CancelledError, SiteError):
                await (await self._reaching).close()
            self._reaching = None

    async def end(self) -> None:
        await self.close()
        host, _, pid = (locks.holder(self._pool / LOCK) or "").partition(" ")
        if host == socket.gethostname():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGTERM)

    async def _call(self, found: str) -> DaskConnection | None:
        comm = await address.connect(found, self._tls)
        if comm is None:
            return None
        connection = DaskConnection(comm)
        self._connections = {each for each in self._connections if not each.sending.done()} | {connection}
        greeted = False
        try:
            greeted = await connection.is_greeted()
            return connection if greeted else None
        finally:
            if not greeted:
                connection.close()

    async def _find(self, wanted: str) -> Sequence[str]:
        """Ask the scheduler for the addresses of a node."""
        async with self._asking:
            scheduler = await self._scheduler()
            try:
                await scheduler.write(wanted)
                return cast(Sequence[str], await scheduler.read())
            except OSError:  # it has ended; the next call reaches or starts another
                return ()

    async def _scheduler(self) -> Comm:
        """Return the connection to the pool's scheduler. It stays open, so that the scheduler does not end."""
        reaching = self._reaching
        if reaching is None or (reaching.done() and (reaching.exception() or reaching.result().closed())):
            reaching = self._reaching = asyncio.create_task(self._reach())
        return await asyncio.shield(reaching)  # a caller that times out does not cancel it for the others

    async def _reach(self) -> Comm:
        log = self._pool / "scheduler.log"
        deadline = asyncio.get_running_loop().time() + _START_WITHIN_S
        started: subprocess.Popen[bytes] | None = None
        while True:
            where = SchedulerAddress.read(self._pool)
            held = locks.holder(self._pool / LOCK) is not None
            # The lock of a process on another host may not be visible here. On this host a free lock means that the
            # scheduler has ended.
            if where is not None and not held and where.host == socket.gethostname():
                where = None
            reached = await address.reach(where, self._tls) if where is not None else None
            if reached is not None:
                with contextlib.suppress(OSError):
                    await reached[1].write({"op": FIND, "reply": False})
                    return reached[1]
            code = started.poll() if started is not None else 0
            has_failed = code is not None and code > 0
            if not held and code is not None and not has_failed:  # none was started, or the last one was killed
                host = ["--host", self._host] if self._host else []
                words = [str(self._pool), "--linger", str(self._linger_s), *host]
                started = start_apart("headway.workers.pool.scheduler", words, log)
                _log.info("started the pool's scheduler as process %d", started.pid)
            if has_failed or asyncio.get_running_loop().time() > deadline:
                todo = "read that log, mend what it says, then `headway resume`"
                raise SiteError("the pool's scheduler does not answer", where=str(log), todo=todo)
            await asyncio.sleep(_POLL_S)


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
        self.sending = asyncio.create_task(self._send())  # ends when the connection is lost or closed

    def send(self, message: protocol.Message) -> None:
        if not self._closing and not self.sending.done():
            self._unsent += protocol.encode(message)
            self._something_to_send.set()
            self._all_sent.clear()

    async def receive(self) -> protocol.ToManager | None:
        return await next_message(self._incoming)

    async def flush(self) -> None:
        await self._all_sent.wait()

    def close(self) -> None:
        self._closing = True
        self._something_to_send.set()

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
