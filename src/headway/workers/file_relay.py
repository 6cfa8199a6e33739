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
from headway.model.errors import is_disk_full
from headway.workers.file_session import HEARTBEAT_TIMEOUT_S, Backoff, Session, newest_session
from headway.workers.protocol import SOCKET, Silent, encode
from headway.workers.unix_stream import open_stream

_CHECK_EVERY_S = 1.0  # whether the manager is alive and its session is still the newest

_log = logging.getLogger("headway.workers.file_relay")  # this module runs as __main__


async def _until_ended(node: Path) -> None:
    """Relay until `workers.node` ends this process."""
    serving = asyncio.create_task(relay(node))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    await serving


async def relay(node: Path) -> None:
    """Serve one session after the other, for ever. Only the newest counts: managers of older ones are gone."""
    backoff = Backoff()
    while True:
        session = await asyncio.to_thread(newest_session, node)
        if session is None:
            await backoff.wait(busy=False)
            continue
        _log.info("serving session %s", session.folder.name)
        try:
            await _serve(node, session)
        finally:  # also when this process has to end, or the manager would wait for the supervisor
            _log.info("session %s is over", session.folder.name)
            session.end()


async def _serve(node: Path, session: Session) -> None:
    """Pass lines on until the supervisor or the manager is gone, or there is a newer session."""
    reader, writer = await _connect_to_supervisor()
    from_supervisor: list[bytes] = []
    reading = asyncio.create_task(_read_lines(reader, from_supervisor))
    loop, backoff = asyncio.get_running_loop(), Backoff()
    heartbeat, heartbeat_seen_at, check_at = session.last_heartbeat(), loop.time(), 0.0
    try:
        while not reading.done() or from_supervisor:
            count = await asyncio.to_thread(_pass_on, session, from_supervisor)
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
                if newest is None or newest.folder != session.folder:
                    return
                silent_s = loop.time() - heartbeat_seen_at
                if silent_s > HEARTBEAT_TIMEOUT_S:
                    writer.write(encode(Silent(silent_s)))
                    await writer.drain()
                    return
            await backoff.wait(busy=bool(from_manager or count))
    except (FileNotFoundError, ConnectionError):  # the manager closed the session, or the supervisor its socket
        return
    finally:
        reading.cancel()
        writer.close()


def _pass_on(session: Session, lines: list[bytes]) -> int:
    """Write lines for the manager; return how many could be written: none while the disk is full."""
    count = len(lines)
    try:
        if count:
            session.write(b"".join(lines[:count]))
    except OSError as error:
        if not is_disk_full(error):
            raise
        _log.warning("cannot write to the manager: %s", error.strerror)
        return 0
    return count


async def _connect_to_supervisor() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, waiting for a supervisor that is still starting. If it has ended, `workers.node` ends this process."""
    while True:
        try:
            return await open_stream(Path(), SOCKET)
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
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_until_ended(node))


if __name__ == "__main__":
    main()
