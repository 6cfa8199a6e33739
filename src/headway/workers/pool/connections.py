"""How a manager reaches its nodes through a pool of Dask workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway import locks
from headway.model.errors import SiteError
from headway.workers.connection import Connection, Connections
from headway.workers.node import node_command
from headway.workers.pool import address
from headway.workers.pool.address import SchedulerAddress
from headway.workers.pool.connection import DaskConnection
from headway.workers.pool.keys import make_keys, security
from headway.workers.pool.operations import FIND, LOCK, name_in_pool

if TYPE_CHECKING:
    from distributed.comm.core import Comm

_GLANCE_S = 0.1
_START_WITHIN_S = 60.0  # for a scheduler, on a busy login node


class DaskConnections(Connections):
    """The pool of one run. Its scheduler is started when none answers, and goes on when the manager ends.

    `host` is the address that the scheduler listens on: one that the nodes can reach; all of this host's, if none is
    given.
    """

    name = "dask"

    def __init__(self, jobs: Path, pool: Path, host: str | None = None, linger_s: float = 600.0) -> None:
        self._jobs = jobs
        self._pool = pool
        self._host = host
        self._linger_s = linger_s
        self._reaching: asyncio.Task[Comm] | None = None
        self._asking = asyncio.Lock()
        self._lines: set[DaskConnection] = set()
        self._connection: Mapping[str, Any] = {}

    def node_command(self, tag: str) -> Sequence[str]:
        return node_command(self._jobs / tag, self.name)

    async def open(self) -> None:
        try:
            make_keys(self._pool)
        except OSError as error:
            raise SiteError(f"cannot make the pool's keys: {error.strerror}", where=str(self._pool)) from error
        except ImportError as error:
            todo = "`pip install 'headway[slurm]'`"
            raise SiteError(f"the pool needs the Python package {error.name}", todo=todo) from error
        self._connection = security(self._pool).get_connection_args("client")
        await self._scheduler()

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    for found in await self._find(name_in_pool(tag, node)):
                        if (line := await self._call(found)) is not None:
                            return line
                    await asyncio.sleep(_GLANCE_S)
        except TimeoutError:
            return None

    async def close(self) -> None:
        for line in self._lines:
            line.close()
        await asyncio.gather(*(line.closed() for line in self._lines))
        self._lines.clear()
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
        comm = await address.connect(found, self._connection)
        if comm is None:
            return None
        line = DaskConnection(comm)
        self._lines = {each for each in self._lines if not each.is_over} | {line}
        greeted = False
        try:
            greeted = await line.greeted()
            return line if greeted else None
        finally:
            if not greeted:
                line.close()

    async def _find(self, wanted: str) -> Sequence[str]:
        """The addresses of a node, as the scheduler knows them."""
        async with self._asking:
            scheduler = await self._scheduler()
            try:
                await scheduler.write(wanted)
                found: Sequence[str] = await scheduler.read()
            except OSError:  # it is gone; the next question goes to another
                return ()
            else:
                return found

    async def _scheduler(self) -> Comm:
        """A connection to the pool's scheduler, kept open: it stays while somebody is there."""
        reaching = self._reaching
        if reaching is None or (reaching.done() and (reaching.exception() or reaching.result().closed())):
            reaching = self._reaching = asyncio.create_task(self._reach())
        return await asyncio.shield(reaching)  # who has no time to wait for it leaves it to the next

    async def _reach(self) -> Comm:
        deadline = asyncio.get_running_loop().time() + _START_WITHIN_S
        started: subprocess.Popen[bytes] | None = None
        while True:
            where = SchedulerAddress.read(self._pool)
            held = locks.holder(self._pool / LOCK) is not None
            # Other hosts' locks may not be seen here; if it was on this one, there is no need to try.
            if where is not None and not held and where.host == socket.gethostname():
                where = None
            reached = await address.reach(where, self._connection) if where is not None else None
            if reached is not None:
                with contextlib.suppress(OSError):
                    await reached[1].write({"op": FIND, "reply": False})
                    return reached[1]
            if started is None and not held:
                started = self._start_scheduler()
            failed = started is not None and started.poll()
            if failed or asyncio.get_running_loop().time() > deadline:
                todo = "see there what is wrong, then `headway resume`"
                raise SiteError("the pool's scheduler does not answer", where=str(self._log), todo=todo)
            await asyncio.sleep(_GLANCE_S)

    @property
    def _log(self) -> Path:
        return self._pool / "scheduler.log"

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        words = [str(self._pool), "--linger", str(self._linger_s), *(["--host", self._host] if self._host else [])]
        handle = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "ab") as log:
            started = subprocess.Popen(
                # -P: a file here that is called like a module of ours or Python's must not be taken for it
                [sys.executable, "-P", "-m", "headway.workers.pool.scheduler", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # neither Ctrl-C nor a closed terminal reaches it
            )
        # Somebody must take note of its end, or a program that goes on for long collects dead processes.
        threading.Thread(target=started.wait, name="headway-scheduler", daemon=True).start()
        return started
