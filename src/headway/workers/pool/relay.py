"""The relay of a node in the pool: a Dask worker that runs no Dask tasks, only passes bytes to and from the supervisor.

Started by `workers.node` as `python -m headway.workers.pool.relay NODE-FOLDER`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
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
from headway.crash_points import crash_point
from headway.log_setup import set_up_logging
from headway.workers.pool import dask_settings
from headway.workers.pool.address import CONNECT, GOODBYE, SchedulerAddress, name_in_pool, reach
from headway.workers.pool.keys import security
from headway.workers.protocol import LOCK, SOCKET, STARTED, SupervisorSettings
from headway.workers.unix_stream import open_stream

_NEEDED = ("identity", "ping", CONNECT)
_SEARCH_EVERY_S = 0.5  # without a scheduler
_CHECK_EVERY_S = 5.0  # with a scheduler: whether another has replaced it
_CHUNK_BYTES = 1 << 20
_JOIN_WITHIN_S = 30.0
_GOODBYE_WITHIN_S = 5.0

_log = logging.getLogger("headway.workers.pool.relay")  # this module runs as __main__


class Relay(distributed.Worker):
    """Passes bytes between the newest manager's connection and the supervisor's socket."""

    def __init__(self, scheduler: str, pool: Path, node: Path) -> None:
        settings = SupervisorSettings.read(node)
        super().__init__(
            scheduler,
            name=f"{name_in_pool(settings.tag, settings.node)}/{time.time_ns():020d}",
            host=f"tls://{get_ip(get_address_host(scheduler))}",
            nthreads=1,
            memory_limit=0,
            security=security(pool),
            extensions={},
            death_timeout=_JOIN_WITHIN_S,
        )
        self.handlers[CONNECT] = self._serve_manager
        self.blocked_handlers = sorted(set(self.handlers) - set(_NEEDED))  # some of Dask's run code sent to them
        self._node = node
        self._manager: Comm | None = None

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Start no HTTP server: Dask's asks for no key."""

    async def _serve_manager(self, comm: Comm) -> Status:
        """Serve one manager's connection until it ends."""
        _log.info("a manager connected")
        if self._manager is not None:
            self._manager.abort()
        self._manager = comm
        with contextlib.suppress(OSError):
            reader, writer = await open_stream(self._node, SOCKET)
            outgoing = asyncio.create_task(_pass_to_manager(reader, comm))
            try:
                while (lines := await comm.read()) != GOODBYE:
                    crash_point("messages-read")
                    writer.write(lines)
                    await writer.drain()
                    crash_point("messages-passed")
            finally:
                # The supervisor closes the socket, not this end: closing it while the supervisor is still sending
                # would discard what the supervisor has not read.
                with contextlib.suppress(OSError):
                    writer.write_eof()
                await asyncio.wait([outgoing], timeout=_GOODBYE_WITHIN_S)
                outgoing.cancel()
                writer.close()
        await comm.close()
        _log.info("the manager's connection is over")
        return Status.dont_reply


async def _pass_to_manager(reader: asyncio.StreamReader, comm: Comm) -> None:
    """Pass the supervisor's messages on as they come; several lines can share one Dask message."""
    with contextlib.suppress(OSError):
        while lines := await reader.read(_CHUNK_BYTES):
            crash_point("news-read")
            if not comm.closed():
                await comm.write(lines)
                crash_point("news-passed")
    await comm.close()


async def relay(node: Path, pool: Path) -> None:
    """Be in the pool while the supervisor lives, under one scheduler after the other."""
    tls = security(pool).get_connection_args("worker")
    while not _is_over(node):
        where = SchedulerAddress.read(pool)
        address = await _reachable_address(where, tls, pool) if where is not None else None
        if address is None:
            await asyncio.sleep(_SEARCH_EVERY_S)
            continue
        async with Relay(address, pool, node) as worker:
            _log.info("joined the pool's scheduler at %s", address)
            left = asyncio.create_task(worker.finished())
            while not left.done() and SchedulerAddress.read(pool) in (where, None) and not _is_over(node):
                await asyncio.wait([left], timeout=_CHECK_EVERY_S)
            _log.info("left the pool's scheduler at %s", address)


async def _reachable_address(where: SchedulerAddress, tls: Mapping[str, Any], pool: Path) -> str | None:
    """Return the first address at which the scheduler answers; None if it does not, or another has replaced it."""
    reaching = asyncio.create_task(reach(where, tls))
    while not reaching.done() and SchedulerAddress.read(pool) == where:
        await asyncio.wait([reaching], timeout=_SEARCH_EVERY_S)
    if not reaching.done() or (reached := reaching.result()) is None:
        reaching.cancel()
        return None
    address, comm = reached
    await comm.close()
    return address


def _is_over(node: Path) -> bool:
    """Whether the supervisor was started and has ended."""
    return (node / STARTED).exists() and locks.holder(node / LOCK) is None


def main() -> None:
    """Entry point of the relay process."""
    node = Path(sys.argv[1])
    pool = node.parents[3] / "pool"  # from jobs/TAG/nodes/NODE
    set_up_logging()
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGHUP):  # `workers.node` ends this process
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with tempfile.TemporaryDirectory(prefix="headway-relay-") as scratch:
        dask_settings.configure(scratch)
        asyncio.run(relay(node, pool))


if __name__ == "__main__":
    main()
