"""Connections over unix sockets as streams, once it is known who answers."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from headway import peers
from headway.workers.protocol import LONGEST_LINE_BYTES


async def open_stream(
    folder: Path, name: str, *, check_above: bool = False, of_others: bool = False
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the socket `folder/name` as `peers.connect` does; an OSError if nobody answers, or a stranger."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)  # a listener whose queue is full is not waited for
    try:
        peers.connect(connection, str(folder), name, check_above=check_above, of_others=of_others)
        return await asyncio.open_unix_connection(sock=connection, limit=LONGEST_LINE_BYTES)
    except BaseException:
        connection.close()
        raise
