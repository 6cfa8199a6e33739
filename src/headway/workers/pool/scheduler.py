"""The pool's scheduler: a process of its own, which outlives the manager and knows which nodes are there.

`python -m headway.workers.pool.scheduler POOL-FOLDER [--host ADDRESS] [--linger SECONDS]`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
from pathlib import Path
from typing import Any

import distributed
from distributed.comm.core import Comm
from distributed.core import Status

from headway import locks
from headway.workers.pool import dask_settings
from headway.workers.pool.address import SchedulerAddress, own_addresses
from headway.workers.pool.keys import security
from headway.workers.pool.operations import FIND, LOCK

_ALL = "0.0.0.0"  # noqa: S104 -- only who has the run's key gets past TLS
_NEEDED = ("identity", "register-worker", "heartbeat_worker", "unregister", FIND)
_HEARTBEAT_S = 10.0  # whoever is gone is noticed by its connection; this is for hosts that fall silent


class PoolScheduler(distributed.Scheduler):
    """Dask's scheduler without tasks, clients and web pages: workers register, managers ask where they are."""

    def __init__(self, pool: Path, host: str) -> None:
        super().__init__(
            host=f"tls://{host}", port=0, security=security(pool), dashboard=False, extensions={}, preload=()
        )
        self.handlers[FIND] = self._find
        self.blocked_handlers = dask_settings.all_but(self.handlers, _NEEDED)
        self.managers = 0

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """There is none: it would ask nobody for a key."""

    def heartbeat_worker(self, **news: Any) -> dict[str, Any]:
        return super().heartbeat_worker(**news) | {"heartbeat-interval": _HEARTBEAT_S}

    async def _find(self, comm: Comm) -> Status:
        """Serve a manager, while it lives."""
        self.managers += 1
        try:
            while True:
                await comm.write(self._addresses(await comm.read()))
        finally:
            self.managers -= 1

    def _addresses(self, place: str) -> list[str]:
        """Of that node's workers, the newest first: one that lost its connection may still be on the list."""
        found = [worker for worker in self.workers.values() if str(worker.name).startswith(f"{place}/")]
        found.sort(key=lambda worker: str(worker.name), reverse=True)
        return [worker.address for worker in found]


async def schedule(pool: Path, host: str | None, linger_s: float) -> None:
    """Be the scheduler until told to stop, or alone for too long."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with PoolScheduler(pool, host or _ALL) as scheduler:
        hosts = [host] if host else own_addresses()
        addresses = tuple(f"tls://{each}:{scheduler.port}" for each in hosts)
        where = SchedulerAddress(addresses, socket.gethostname(), os.getpid())
        where.write(pool)
        alone_s, glance_s = 0.0, min(1.0, linger_s / 4)
        while alone_s < linger_s and not stop.is_set():
            try:
                await asyncio.wait_for(stop.wait(), glance_s)
            except TimeoutError:
                alone_s = 0.0 if scheduler.managers or scheduler.workers else alone_s + glance_s
        where.withdraw(pool)


def main() -> None:
    """Entry point of the scheduler process; there is one a pool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("--host", help="the address to listen on; all of this host's, if none is given")
    parser.add_argument("--linger", type=float, default=600.0, help="seconds to stay without managers and nodes")
    chosen = parser.parse_args()
    os.umask(0o077)
    if locks.take(chosen.pool / LOCK, f"{socket.gethostname()} {os.getpid()}") is None:
        return
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    dask_settings.configure()
    asyncio.run(schedule(chosen.pool, chosen.host, chosen.linger))


if __name__ == "__main__":
    main()
