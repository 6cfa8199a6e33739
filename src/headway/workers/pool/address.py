"""How the processes of the pool find and call each other.

The scheduler writes its addresses to a file that the manager and the relays read. It and the relays serve operations,
which the manager calls by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from headway.workers.whole_file import write_whole

if TYPE_CHECKING:
    from distributed.comm.core import Comm

FIND = "headway-find"  # scheduler: the manager then sends names of nodes and receives a list of addresses for each
CONNECT = "headway-line"  # relay: both ends then send bytes, of any number of lines and parts of lines
GOODBYE = b""  # relay: the manager sends no more
LOCK = "lock"  # file in the pool's folder, locked by the scheduler while it lives
_FILE = "scheduler.json"
# How long one address may take to answer. Dask retries during this time, also if no process listens there. Its first
# try gets a fifth of this time, which must be enough for a TLS handshake with a busy host.
_ANSWER_WITHIN_S = 5.0


def name_in_pool(tag: str, node: str) -> str:
    """Return the pool's name of a node of a job."""
    return f"{tag}/{node}"


class SchedulerAddress(Struct, frozen=True):
    """Where the scheduler listens. Nodes and the manager may reach its host by different addresses."""

    addresses: tuple[str, ...]
    host: str
    pid: int

    @staticmethod
    def read(pool: Path) -> SchedulerAddress | None:
        """Read the address of the pool's last scheduler, which may have ended; None if there was none."""
        try:
            return msgspec.json.decode((pool / _FILE).read_bytes(), type=SchedulerAddress)
        except (OSError, ValueError):  # a network file system can show a part of the file for a moment
            return None

    def write(self, pool: Path) -> None:
        """Write the address for the manager and the relays."""
        write_whole(pool / _FILE, msgspec.json.encode(self))

    def withdraw(self, pool: Path) -> None:
        """Delete the address, unless another scheduler has replaced it."""
        if SchedulerAddress.read(pool) == self:
            (pool / _FILE).unlink(missing_ok=True)


async def reach(where: SchedulerAddress, tls: Mapping[str, Any]) -> tuple[str, Comm] | None:
    """Connect to the first address that answers with the run's certificate; return it with the open connection."""
    for address in where.addresses:
        comm = await connect(address, tls)
        if comm is not None:
            return address, comm
    return None


async def connect(address: str, tls: Mapping[str, Any]) -> Comm | None:
    """Connect; None if no process answers in time, or one without the run's certificate."""
    from distributed.comm.core import connect as dask_connect

    try:
        async with asyncio.timeout(_ANSWER_WITHIN_S):
            comm: Comm = await dask_connect(address, timeout=_ANSWER_WITHIN_S, deserialize=False, **tls)
            return comm
    except OSError:  # includes TimeoutError
        return None


def own_addresses() -> list[str]:
    """Return this host's addresses that other hosts can use, the address of its host name first."""
    import psutil

    found: list[str] = []
    with contextlib.suppress(OSError):  # the host name cannot be resolved
        found += [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    for name, entries in psutil.net_if_addrs().items():
        found += [entry.address for entry in entries if name in up and entry.family == socket.AF_INET]
    outside = [address for address in dict.fromkeys(found) if not address.startswith("127.")]
    return outside or ["127.0.0.1"]
