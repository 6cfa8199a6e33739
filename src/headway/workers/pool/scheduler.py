"""The pool's scheduler: a process of its own that outlives the manager and knows the addresses of the relays.

`python -m headway.workers.pool.scheduler POOL-FOLDER [--host ADDRESS] [--linger SECONDS]`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import tempfile
from pathlib import Path
from typing import Any

import distributed
from distributed.comm.core import Comm
from distributed.core import Status

from headway import locks
from headway.crash_points import crash_point
from headway.log_setup import set_up_logging
from headway.workers.pool import dask_settings
from headway.workers.pool.address import FIND, LOCK, SchedulerAddress, own_addresses
from headway.workers.pool.keys import security

_ALL = "0.0.0.0"  # noqa: S104 -- TLS refuses clients without the run's key
_NEEDED = ("identity", "register-worker", "heartbeat_worker", "unregister", FIND)
_HEARTBEAT_S = 10.0  # detects hosts that fall silent; a process that ends closes its connection

_log = logging.getLogger("headway.workers.pool.scheduler")  # this module runs as __main__


class PoolScheduler(distributed.Scheduler):
    """Dask's scheduler without tasks, clients and web pages: relays register, managers ask for their addresses."""

    def __init__(self, pool: Path, host: str) -> None:
        super().__init__(
            host=f"tls://{host}", port=0, security=security(pool), dashboard=False, extensions={}, preload=()
        )
        self.handlers[FIND] = self._find
        self.blocked_handlers = sorted(set(self.handlers) - set(_NEEDED))  # some of Dask's run code sent to them
        self.managers = 0

    def start_http_server(self, *arguments: Any, **options: Any) -> None:
        """Start no HTTP server: Dask's asks for no key."""

    def heartbeat_worker(self, **news: Any) -> dict[str, Any]:
        return super().heartbeat_worker(**news) | {"heartbeat-interval": _HEARTBEAT_S}

    async def _find(self, comm: Comm) -> Status:
        """Answer a manager's questions until its connection ends."""
        self.managers += 1
        try:
            while True:
                asked = await comm.read()
                crash_point("asked")
                await comm.write(self._addresses(asked))
                crash_point("answered")
        finally:
            self.managers -= 1

    def _addresses(self, node: str) -> list[str]:
        """Return the addresses of a node's relays, the newest first: a relay that died may still be listed."""
        found = [worker for worker in self.workers.values() if str(worker.name).startswith(f"{node}/")]
        found.sort(key=lambda worker: str(worker.name), reverse=True)
        return [worker.address for worker in found]


async def schedule(pool: Path, host: str | None, linger_s: float) -> None:
    """Be the scheduler until told to stop, or until there were no managers and relays for `linger_s`."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with PoolScheduler(pool, host or _ALL) as scheduler:
        hosts = [host] if host else own_addresses()
        addresses = tuple(f"tls://{each}:{scheduler.port}" for each in hosts)
        where = SchedulerAddress(addresses, socket.gethostname(), os.getpid())
        where.write(pool)
        _log.info("listening at %s", ", ".join(addresses))
        alone_s, poll_s = 0.0, min(1.0, linger_s / 4)
        while alone_s < linger_s and not stop.is_set():
            try:
                await asyncio.wait_for(stop.wait(), poll_s)
            except TimeoutError:
                alone_s = 0.0 if scheduler.managers or scheduler.workers else alone_s + poll_s
        where.withdraw(pool)
        _log.info("ending: %s", "told to stop" if stop.is_set() else f"alone for {alone_s:g} s")


def main() -> None:
    """Entry point of the scheduler process. A second one in the same pool ends at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("--host", help="the address to listen on; by default all addresses of this host")
    parser.add_argument("--linger", type=float, default=600.0, help="seconds to wait without managers and nodes")
    chosen = parser.parse_args()
    set_up_logging()
    os.umask(0o077)
    if locks.take(chosen.pool / LOCK, f"{socket.gethostname()} {os.getpid()}") is None:
        return
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="headway-scheduler-") as scratch:
        dask_settings.configure(scratch)
        asyncio.run(schedule(chosen.pool, chosen.host, chosen.linger))


if __name__ == "__main__":
    main()
