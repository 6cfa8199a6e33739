"""A connection as files on a shared file system: what the manager and the relay read and write.

A session is a folder that the manager creates in the node's folder, with one subfolder for each direction. Each file
there holds some lines. It appears whole, by renaming; the receiver reads files in the order of their numbers and
deletes each one after reading it. Either end closes the session by deleting its folder.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from pathlib import Path

from headway.workers.whole_file import write_whole

SESSIONS = "sessions"
_TO_NODE, _FROM_NODE, _ALIVE = "to", "from", "alive"
HEARTBEAT_EVERY_S = 30.0
HEARTBEAT_TIMEOUT_S = 90.0  # a manager without a heartbeat for this long is taken for dead
_SHORTEST_S, _LONGEST_S, _GROWTH = 0.02, 1.0, 1.3  # pauses between two polls of a folder


class Session:
    """One end of a session."""

    def __init__(self, folder: Path, *, manager: bool) -> None:
        self.folder = folder
        self._out = folder / (_TO_NODE if manager else _FROM_NODE)
        self._in = folder / (_FROM_NODE if manager else _TO_NODE)
        self._written = 0

    @classmethod
    def begin(cls, node: Path) -> Session:
        """Create a session for the manager. Its name sorts after those of all earlier sessions."""
        sessions = node / SESSIONS
        sessions.mkdir(mode=0o700, exist_ok=True)
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        making = node / f".{name}"  # the relay must not see a session that is half made
        for direction in (_TO_NODE, _FROM_NODE):
            (making / direction).mkdir(mode=0o700, parents=True)
        (making / _ALIVE).touch(0o600)
        making.chmod(0o700)
        making.rename(sessions / name)
        return cls(sessions / name, manager=True)

    def is_unread(self) -> bool:
        """Whether the other end has not read all that was written."""
        try:
            return bool(os.listdir(self._out))
        except FileNotFoundError:
            return False

    def write(self, lines: bytes) -> None:
        """Write whole lines for the other end; FileNotFoundError if it has closed the session."""
        self._written += 1
        write_whole(self._out / f"{self._written:010d}", lines)

    def read(self) -> list[bytes]:
        """Return the lines that the other end has written, in order; FileNotFoundError if it has closed the session."""
        found: list[bytes] = []
        for name in sorted(name for name in os.listdir(self._in) if not name.startswith(".")):
            path = f"{self._in}/{name}"
            with open(path, "rb") as file:
                found += file.read().splitlines(keepends=True)
            os.unlink(path)
        return found

    def send_heartbeat(self) -> None:
        """Show the relay that the manager is alive; FileNotFoundError if the relay has closed the session."""
        os.utime(self.folder / _ALIVE)

    def last_heartbeat(self) -> int:
        """Return the time of the manager's last heartbeat, by the file server's clock; 0 if the session is closed."""
        try:
            return (self.folder / _ALIVE).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def end(self) -> None:
        """Close the session."""
        shutil.rmtree(self.folder, ignore_errors=True)


def newest_session(node: Path) -> Session | None:
    """Return the relay's end of the newest session: the only one that the relay serves."""
    try:
        names = os.listdir(node / SESSIONS)
    except FileNotFoundError:
        return None
    return Session(node / SESSIONS / max(names), manager=False) if names else None


class Backoff:
    """Waits between polls of a folder: shortly after a poll that found something, longer while there is nothing."""

    def __init__(self) -> None:
        self._pause_s = _SHORTEST_S

    async def wait(self, *, busy: bool) -> None:
        """Wait until the next poll is due. `busy` says that the last poll found something."""
        self._pause_s = _SHORTEST_S if busy else min(_LONGEST_S, self._pause_s * _GROWTH)
        await asyncio.sleep(self._pause_s)
