"""The relay of a node without network connections: passes lines between session files and the supervisor's socket.

Started by `workers.node` as `python -m headway.workers.file_relay NODE-FOLDER`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

from headway.crash_points import crash_point
from headway.log_setup import set_up_logging
from headway.workers.file_session import HEARTBEAT_TIMEOUT_S, Backoff, Session, newest_session
from headway.workers.protocol import LONGEST_LINE_BYTES, SOCKET

_CHECK_EVERY_S = 1.0  # whether the manager is alive and its session is still the newest

_log = logging.getLogger("headway.workers.file_relay")  # this module runs as __main__


async def relay(node: Path) -> None:
    """Serve one session after the other, for ever. Only the newest counts: managers of older ones are gone."""
    backoff = Backoff()
    while True:
        session = await asyncio.to_thread(newest_session, node)
        if session is None:
            await backoff.wait(busy=False)
            continue
        _log.info("serving session %s", session.folder.name)
        await _serve(node, session)
        _log.info("session %s is over", session.folder.name)
        await asyncio.to_thread(session.end)


async def _serve(node: Path, session: Session) -> None:
    """Pass lines on until the supervisor or the manager is gone, or there is a newer session."""
    reader, writer = await _connect_to_supervisor()
    from_supervisor: list[bytes] = []
    reading = asyncio.create_task(_read_lines(reader, from_supervisor))
    loop, backoff = asyncio.get_running_loop(), Backoff()
    heartbeat, heartbeat_seen_at, check_at = session.last_heartbeat(), loop.time(), 0.0
    try:
        while not reading.done() or from_supervisor:
            count = len(from_supervisor)
            if count:
                await asyncio.to_thread(session.write, b"".join(from_supervisor[:count]))
                del from_supervisor[:count]
            from_manager = await asyncio.to_thread(session.read)
            if from_manager:
                crash_point("messages-read")
                writer.writelines(from_manager)
                crash_point("messages-passed")
            if loop.time() > check_at:
                check_at = loop.time() + _CHECK_EVERY_S
                if (last := await asyncio.to_thread(session.last_heartbeat)) != heartbeat:
                    heartbeat, heartbeat_seen_at = last, loop.time()
                newest = await asyncio.to_thread(newest_session, node)
                is_silent = loop.time() - heartbeat_seen_at > HEARTBEAT_TIMEOUT_S
                if is_silent or newest is None or newest.folder != session.folder:
                    return
            await backoff.wait(busy=bool(from_manager or count))
    except (FileNotFoundError, ConnectionError):  # the manager closed the session, or the supervisor its socket
        return
    finally:
        reading.cancel()
        writer.close()


async def _connect_to_supervisor() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, waiting for a supervisor that is still starting. If it has ended, `workers.node` ends this process."""
    while True:
        try:
            # `main` has changed to the node's folder: the path of a unix socket is limited to 107 bytes.
            return await asyncio.open_unix_connection(SOCKET, limit=LONGEST_LINE_BYTES)
        except OSError:
            await asyncio.sleep(0.1)


async def _read_lines(reader: asyncio.StreamReader, lines: list[bytes]) -> None:
    with contextlib.suppress(ConnectionError, ValueError):
        while (line := await reader.readline()).endswith(b"\n"):
            lines.append(line)


def main() -> None:
    """Entry point of the relay process."""
    node = Path(sys.argv[1])
    set_up_logging()
    os.chdir(node)
    for number in (signal.SIGINT, signal.SIGHUP):  # `workers.node` ends this process
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(relay(node))


if __name__ == "__main__":
    main()
