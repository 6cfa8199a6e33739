"""Where a pool lies, and how a program on the same machine talks to it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from pathlib import Path
from typing import NamedTuple

from headway import peers
from headway.model.errors import InputError, SiteError
from headway.workers import protocol
from headway.workers.protocol import LONGEST_LINE_BYTES
from headway.workers.unix_stream import open_stream

DEFAULT = "default"
LINK = "pool"  # in the folder .headway of the pool's directory; it stays when the pool's manager is killed
_NAME = re.compile(r"[\w.+-]+")
_ANSWER_WITHIN_S = 60.0


def state_folder() -> Path:
    """The folder in which Headway keeps what concerns all directories of this user."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "headway"


class PoolRefusedError(SiteError):
    """The pool does not serve this user: nothing of theirs waits or runs there."""


class PoolPlace(NamedTuple):
    """A pool's name, and the directory in which its runs lie."""

    name: str
    directory: Path

    @staticmethod
    def of(name: str) -> PoolPlace:
        """The place of the pool of that name; a name with a slash is its directory."""
        if "/" in name:
            return PoolPlace(name, Path(name).absolute())
        if not _NAME.fullmatch(name) or name.startswith("."):
            todo = "use letters, digits and -, or a directory with a slash"
            raise InputError(f"{name!r} cannot be the name of a pool", where="--pool", todo=todo)
        return PoolPlace(name, state_folder() / "pools" / name)

    @property
    def link(self) -> Path:
        """The link to the pool's socket. It exists from the pool's first start to its last end."""
        return self.directory / ".headway" / LINK

    @property
    def start(self) -> str:
        """The command that starts this pool."""
        return "headway pool start" if self.name == DEFAULT else f"headway pool start {self.name}"

    @property
    def exists(self) -> bool:
        """Whether there is such a pool, though its manager may have been killed."""
        return os.path.islink(self.link)

    def connect(self) -> socket.socket:
        """Connect to the pool's manager; a sentence says how to start one if there is none."""
        try:
            return self._connect()
        except OSError as error:
            raise self._unreachable(error) from error

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_ANSWER_WITHIN_S)
        try:
            peers.connect(connection, str(self.link.parent), LINK, of_others=self._may_be_anothers)
        except OSError:
            connection.close()
            raise
        return connection

    @property
    def _may_be_anothers(self) -> bool:
        """Whether the user has said by a directory which pool is meant; one that has a name only is this user's."""
        return "/" in self.name

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the pool's manager; an OSError if it does not answer, a SiteError if it is another's."""
        try:
            return await open_stream(self.link.parent, LINK, check_above=True, of_others=self._may_be_anothers)
        except PermissionError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: OSError) -> SiteError:
        if isinstance(error, peers.UntrustedError):
            return SiteError(error.what, where=error.where, todo=error.todo)
        if isinstance(error, PermissionError):
            todo = "its owner gives access to a group with `headway pool start DIRECTORY --group GROUP`"
            return SiteError("other users cannot reach this pool", where=str(self.directory), todo=todo)
        state = "does not answer: its manager was stopped or killed" if self.exists else "is not there"
        return SiteError(f"the pool {self.name!r} {state}", todo=f"start it with `{self.start}`")

    def is_ours(self, connection: socket.socket) -> bool:
        """Whether the pool at the other end runs under this very account: only then may it know all that we know."""
        return peers.peer_of(connection)[1] == os.geteuid()

    def ask(self, message: protocol.Message, timeout_s: float | None = _ANSWER_WITHIN_S) -> protocol.ToManager | None:
        """Send a message and return the answer; None if the pool hangs up."""
        with self.connect() as connection:
            connection.settimeout(timeout_s)
            try:
                connection.sendall(protocol.encode(message))
            except OSError as error:
                raise SiteError(f"the pool {self.name!r} does not answer", where=str(self.directory)) from error
            return self.answer(connection)

    def answer(self, connection: socket.socket) -> protocol.ToManager | None:
        """The next message of the pool; None if it hangs up."""
        try:
            line = connection.makefile("rb").readline(LONGEST_LINE_BYTES)
        except OSError as error:
            raise SiteError(f"the pool {self.name!r} does not answer", where=str(self.directory)) from error
        return protocol.decode_from_supervisor(line) if line.endswith(b"\n") else None

    def told(self) -> protocol.Told:
        """What the pool says of itself."""
        answer = self.ask(protocol.Ask())
        if isinstance(answer, protocol.Refused):
            raise PoolRefusedError(answer.what)
        if not isinstance(answer, protocol.Told):
            raise SiteError(f"the pool {self.name!r} gave no answer", where=str(self.directory))
        return answer
