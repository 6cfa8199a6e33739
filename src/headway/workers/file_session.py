"""Lines as files: what both ends of a connection through a shared file system read and write.

A session is a folder that the manager makes in the node's, with a folder for each direction. A file holds some lines;
it appears whole, by renaming, is read in the order of its number, and is removed by whoever has read it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from pathlib import Path

SESSIONS = "sessions"
_TO_NODE, _FROM_NODE, _ALIVE = "to", "from", "alive"
HEARTBEAT_TIMEOUT_S = 180.0  # a manager that gave no sign of life for so long is gone
HEARTBEAT_EVERY_S = 30.0


class Session:
    """One end of a connection."""

    def __init__(self, folder: Path, *, manager: bool) -> None:
        self.folder = folder
        self._out = folder / (_TO_NODE if manager else _FROM_NODE)
        self._in = folder / (_FROM_NODE if manager else _TO_NODE)
        self._written = 0

    @classmethod
    def begin(cls, node: Path) -> Session:
        """A new one, for the manager, later in order than all before it."""
        sessions = node / SESSIONS
        sessions.mkdir(mode=0o700, exist_ok=True)
        name = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        making = node / f".{name}"  # the relay must not see it half made
        for direction in (_TO_NODE, _FROM_NODE):
            (making / direction).mkdir(mode=0o700, parents=True)
        (making / _ALIVE).touch(0o600)
        making.chmod(0o700)
        making.rename(sessions / name)
        return cls(sessions / name, manager=True)

    def is_unread(self) -> bool:
        """Whether something that was written waits to be read."""
        try:
            return bool(os.listdir(self._out))
        except FileNotFoundError:
            return False

    def write(self, lines: bytes) -> None:
        """Pass on some whole lines; FileNotFoundError if the other end has hung up."""
        self._written += 1
        making = f"{self._out}/.{self._written:010d}"
        handle = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(lines)
        os.rename(making, f"{self._out}/{self._written:010d}")

    def read(self) -> list[bytes]:
        """The lines that have come, in order; FileNotFoundError if the other end has hung up."""
        found: list[bytes] = []
        for name in sorted(name for name in os.listdir(self._in) if not name.startswith(".")):
            path = f"{self._in}/{name}"
            with open(path, "rb") as file:
                found += file.read().splitlines(keepends=True)
            os.unlink(path)
        return found

    def exchange(self, lines: bytes) -> list[bytes]:
        """Pass on some lines, if there are any, and read what has come, in one go."""
        if lines:
            self.write(lines)
        return self.read()

    def send_heartbeat(self) -> None:
        """The manager lives; FileNotFoundError if the other end has hung up."""
        os.utime(self.folder / _ALIVE)

    def last_heartbeat(self) -> int:
        """When the manager last gave one, by whatever clock; 0 if it hung up."""
        try:
            return (self.folder / _ALIVE).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def end(self) -> None:
        """Hang up."""
        shutil.rmtree(self.folder, ignore_errors=True)


def newest_session(node: Path) -> Session | None:
    """The session that counts, for the relay."""
    try:
        names = os.listdir(node / SESSIONS)
    except FileNotFoundError:
        return None
    return Session(node / SESSIONS / max(names), manager=False) if names else None
