"""Where the pool's scheduler listens: a file that it writes and everybody else reads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from distributed.comm.core import Comm

_FILE = "scheduler.json"
# For one address to answer. Dask tries again all that time, also where nobody listens any more; not so short that a
# busy host cannot say hello in a fifth of it, which is what Dask gives the first attempt.
_ANSWER_WITHIN_S = 5.0


class SchedulerAddress(Struct, frozen=True):
    """A host has several addresses; nodes may reach it by one of them and the manager by another."""

    addresses: tuple[str, ...]
    host: str
    pid: int

    @staticmethod
    def read(pool: Path) -> SchedulerAddress | None:
        """Where the scheduler is, or was; None if there has been none."""
        try:
            return msgspec.json.decode((pool / _FILE).read_bytes(), type=SchedulerAddress)
        except (OSError, ValueError):  # a network file system may show half of it for a moment
            return None

    def write(self, pool: Path) -> None:
        """Let everybody know."""
        making = pool / f".{_FILE}.{self.pid}"
        handle = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(self))
        making.rename(pool / _FILE)

    def withdraw(self, pool: Path) -> None:
        """This scheduler is gone; another that may have taken its place is not."""
        if SchedulerAddress.read(pool) == self:
            (pool / _FILE).unlink(missing_ok=True)


async def reach(where: SchedulerAddress, connection: Mapping[str, Any]) -> tuple[str, Comm] | None:
    """The first address that answers and shows the run's certificate, with an open connection to it."""
    for address in where.addresses:
        comm = await connect(address, connection)
        if comm is not None:
            return address, comm
    return None


async def connect(address: str, connection: Mapping[str, Any]) -> Comm | None:
    """A connection; None if nobody answers in time, or somebody who is not of this pool."""
    from distributed.comm.core import connect as dask_connect

    try:
        async with asyncio.timeout(_ANSWER_WITHIN_S):
            comm: Comm = await dask_connect(address, timeout=_ANSWER_WITHIN_S, deserialize=False, **connection)
            return comm
    except OSError:  # a time-out is an OSError, too
        return None


def own_addresses() -> list[str]:
    """By which others may reach this host, the one that its name stands for first."""
    import psutil

    found: list[str] = []
    with contextlib.suppress(OSError):  # a host that does not know its own name
        found += [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    for name, entries in psutil.net_if_addrs().items():
        found += [entry.address for entry in entries if name in up and entry.family == socket.AF_INET]
    outside = [address for address in dict.fromkeys(found) if not address.startswith("127.")]
    return outside or ["127.0.0.1"]
