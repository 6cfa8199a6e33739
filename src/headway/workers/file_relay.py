"""Carries lines between files on a shared file system and a node's supervisor: for sites that allow no connections.

`python -m headway.workers.file_relay NODE-FOLDER`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from headway.workers.backoff import Backoff
from headway.workers.file_session import HEARTBEAT_TIMEOUT_S, Session, newest_session
from headway.workers.protocol import LONGEST_LINE_BYTES, SOCKET

_CHECK_EVERY_S = 1.0  # whether the manager lives and is the newest_session


async def carry(node: Path) -> None:
    """Serve one manager after the other, for ever. The newest session counts: an older one's manager is gone."""
    pace = Backoff()
    while True:
        session = await asyncio.to_thread(newest_session, node)
        if session is None:
            await pace.wait(busy=False)
            continue
        await _serve(node, session)
        await asyncio.to_thread(session.end)


async def _serve(node: Path, session: Session) -> None:
    """Until the supervisor or the manager is gone, or a newer manager is there."""
    reader, writer = await _supervisor()
    heard: list[bytes] = []
    listening = asyncio.create_task(_listen(reader, heard))
    loop, pace = asyncio.get_running_loop(), Backoff()
    sign, seen_at, check_at = session.last_heartbeat(), loop.time(), 0.0
    try:
        while not listening.done() or heard:
            lines = len(heard)
            told = await asyncio.to_thread(session.exchange, b"".join(heard[:lines]))
            del heard[:lines]
            writer.writelines(told)
            if loop.time() > check_at:
                check_at = loop.time() + _CHECK_EVERY_S
                if (last := await asyncio.to_thread(session.last_heartbeat)) != sign:
                    sign, seen_at = last, loop.time()
                if loop.time() - seen_at > HEARTBEAT_TIMEOUT_S or not await asyncio.to_thread(
                    _is_newest, node, session
                ):
                    return
            await pace.wait(busy=bool(told or lines))
    except (FileNotFoundError, ConnectionError):  # one of them hung up
        return
    finally:
        listening.cancel()
        writer.close()


async def _supervisor() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to it; if it is only about to start, wait. When it is gone for good, so is this process soon."""
    while True:
        try:
            # A relative name, since a unix socket's may have 107 bytes at most: `main` has gone to the folder.
            return await asyncio.open_unix_connection(SOCKET, limit=LONGEST_LINE_BYTES)
        except OSError:
            await asyncio.sleep(0.1)


async def _listen(reader: asyncio.StreamReader, heard: list[bytes]) -> None:
    with contextlib.suppress(ConnectionError, ValueError):
        while (line := await reader.readline()).endswith(b"\n"):
            heard.append(line)


def _is_newest(node: Path, session: Session) -> bool:
    found = newest_session(node)
    return found is not None and found.folder == session.folder


def main() -> None:
    """Entry point of the relay process."""
    node = Path(sys.argv[1])
    os.chdir(node)
    for number in (signal.SIGINT, signal.SIGHUP):  # its parent sees to it
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(carry(node))


if __name__ == "__main__":
    main()
