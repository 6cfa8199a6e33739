"""Carries lines between a manager and a node's supervisor: a Dask worker that takes no tasks.

`python -m headway.workers.pool.relay NODE-FOLDER [POOL-FOLDER]`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import distributed
from distributed.comm.addressing import get_address_host
from distributed.comm.core import Comm
from distributed.core import Status
from distributed.utils import get_ip

from headway import locks
from headway.workers.pool import dask_settings
from headway.workers.pool.address import SchedulerAddress, reach
from headway.workers.pool.keys import security
from headway.workers.pool.operations import CONNECT, GOODBYE, name_in_pool
from headway.workers.protocol import LOCK, SOCKET, STARTED, SupervisorSettings
from headway.workers.short_path import short_path

_NEEDED = ("identity", "ping", CONNECT)
_LOOK_EVERY_S = 0.5  # while there is no scheduler
_GLANCE_S = 5.0  # when there is one: whether another has taken its place
_CHUNK_BYTES = 1 << 20
_JOIN_WITHIN_S = 30.0
_GOODBYE_WITHIN_S = 5.0


class Relay(distributed.Worker):
    """A node's place in the pool. The newest manager counts; it gets a connection of its own to the supervisor."""

    def __init__(self, scheduler: str, pool: Path, node: Path, scratch: str) -> None:
        order = SupervisorSettings.read(node)
        super().__init__(
            scheduler,
            name=f"{name_in_pool(order.tag, order.node)}/{time.time_ns():020d}",
            host=f"tls://{get_ip(get_address_host(scheduler))}",
            nthreads=1,
            memory_limit=0,
            local_directory=scratch,
            security=security(pool),
            extensions={},
            death_timeout=_JOIN_WITHIN_S,
        )
        self.handlers[CONNECT] = self._carry
        self.blocked_handlers = dask_settings.all_but(self.handlers, _NEEDED)
        self._node = node
        self._manager: Comm | None = None

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """There is none: it would ask nobody for a key."""

    async def _carry(self, comm: Comm) -> Status:
        """One manager's connection, from its beginning to its end. What is passed on is not looked at."""
        if self._manager is not None:
            self._manager.abort()
        self._manager = comm
        with contextlib.suppress(OSError):
            with short_path(self._node, SOCKET) as path:
                reader, writer = await asyncio.open_unix_connection(path)
            news = asyncio.create_task(_pass_on_news(reader, comm))
            try:
                while (lines := await comm.read()) != GOODBYE:
                    writer.write(lines)
                    await writer.drain()
            finally:
                # It is the supervisor who hangs up: while it speaks, hanging up on it would take away what it has not
                # yet read.
                with contextlib.suppress(OSError):
                    writer.write_eof()
                await asyncio.wait([news], timeout=_GOODBYE_WITHIN_S)
                news.cancel()
                writer.close()
        await comm.close()
        return Status.dont_reply


async def _pass_on_news(reader: asyncio.StreamReader, comm: Comm) -> None:
    """What the supervisor says, as it comes: many lines in a row are one message."""
    with contextlib.suppress(OSError):
        while news := await reader.read(_CHUNK_BYTES):
            if not comm.closed():
                await comm.write(news)
    await comm.close()


async def carry(node: Path, pool: Path, scratch: str) -> None:
    """Be in the pool while the supervisor lives, under one scheduler after the other."""
    connection = security(pool).get_connection_args("worker")
    while not _is_over(node):
        where = SchedulerAddress.read(pool)
        address = await _answering(where, connection, pool) if where is not None else None
        if address is None:
            await asyncio.sleep(_LOOK_EVERY_S)
            continue
        async with Relay(address, pool, node, scratch) as relay:
            left = asyncio.create_task(relay.finished())
            while not left.done() and SchedulerAddress.read(pool) in (where, None) and not _is_over(node):
                await asyncio.wait([left], timeout=_GLANCE_S)


async def _answering(where: SchedulerAddress, connection: Mapping[str, Any], pool: Path) -> str | None:
    """By which of its addresses the scheduler answers; None if it does not, or another has taken its place."""
    reaching = asyncio.create_task(reach(where, connection))
    while not reaching.done() and SchedulerAddress.read(pool) == where:
        await asyncio.wait([reaching], timeout=_LOOK_EVERY_S)
    if not reaching.done() or (reached := reaching.result()) is None:
        reaching.cancel()
        return None
    address, comm = reached
    await comm.close()
    return address


def _is_over(node: Path) -> bool:
    """Whether the supervisor has been there and is gone."""
    return (node / STARTED).exists() and locks.holder(node / LOCK) is None


def main() -> None:
    """Entry point of the relay process."""
    node = Path(sys.argv[1])
    pool = Path(sys.argv[2]) if len(sys.argv) > 2 else node.parents[3] / "pool"  # from jobs/TAG/nodes/NODE
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGHUP):  # its parent sees to it
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    dask_settings.configure()
    with tempfile.TemporaryDirectory(prefix="headway-relay-") as scratch:
        asyncio.run(carry(node, pool, scratch))


if __name__ == "__main__":
    main()
