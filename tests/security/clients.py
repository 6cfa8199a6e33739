"""Every client of a unix socket but the programs themselves: `python -P -m tests.security.clients NAME FOLDER TIMES`.

Each is called many times with sockets in FOLDER/.headway, and sends what it has to send. Prints what was raised.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import headway
from headway.integrations import shared_worker
from headway.integrations.calls import CallFolder
from headway.integrations.nested_executor import NestedExecutor
from headway.model.errors import HeadwayError
from headway.serving.client import ServiceError
from headway.workers import protocol
from headway.workers.pool_place import PoolPlace
from headway.workers.socket_connection import SocketConnection


def execute(folder: Path) -> None:
    headway.execute(["true"], folder, wait_s=0)


def quote(folder: Path) -> None:
    headway.quote(folder)


def stop(folder: Path) -> None:
    headway.stop_service(folder, wait=False)


def snakemake(folder: Path) -> None:
    from headway.integrations.snakemake.commands import Commands, Work  # takes a second

    commands = Commands(str(folder / ".headway" / "service"))
    commands.cancelled = True  # it asks once
    commands.quote([Work("align", "1", {})])


def pool(folder: Path) -> None:
    PoolPlace.of(f"{folder}/").told()


def join(folder: Path) -> None:
    async def send() -> None:
        reader, writer = await PoolPlace.of(f"{folder}/").open()
        writer.write(protocol.encode(protocol.Ask()))
        await reader.read()  # until the other end hangs up
        writer.close()
        await writer.wait_closed()

    asyncio.run(send())


def supervisor(folder: Path) -> None:
    async def send() -> None:
        connection = await SocketConnection.open(folder / ".headway" / "jobs", 0.05)
        if connection is not None:
            connection.send(protocol.Produced(["file"]))
            await connection.flush()
            connection.close()

    asyncio.run(send())


def worker(folder: Path) -> None:
    shared_worker.main(str(folder / ".headway"), "call[1]")


def nested(folder: Path) -> None:
    NestedExecutor(CallFolder(folder / ".headway"))._waits(1)


CLIENTS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (execute, quote, stop, snakemake, pool, join, supervisor, worker, nested)
}


def main(name: str, folder: str, times: str) -> None:
    """Call one client many times."""
    os.environ |= {"HEADWAY_TASK": "call[1]", "HEADWAY_TRY": "1"}
    raised: Counter[str] = Counter()
    for _ in range(int(times)):
        try:
            CLIENTS[name](Path(folder))
        except (HeadwayError, ServiceError, OSError) as error:
            raised[str(error)] += 1
    for text, number in raised.items():
        print(f"{number} times: {text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
