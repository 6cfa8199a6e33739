"""Where a pool lies, and how a program talks to it: on the same machine, or by an invitation from another one."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import struct
from pathlib import Path
from typing import NamedTuple

from headway.model.errors import InputError, SiteError
from headway.workers import protocol
from headway.workers.invitation import Invitation
from headway.workers.protocol import LONGEST_LINE_BYTES
from headway.workers.short_path import short_path

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
    """A pool's name, and the directory in which its runs lie; of one that was reached by invitation, the invitation."""

    name: str
    directory: Path
    invitation: Invitation | None = None

    @staticmethod
    def of(name: str) -> PoolPlace:
        """The place of the pool of that name; a name with a slash is its directory, or an invitation's file."""
        if "/" in name:
            path = Path(name).absolute()
            if os.path.isfile(path):
                return PoolPlace(str(path), path.parent, Invitation.read(path))
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
        if self.invitation is not None:
            return f"headway pool start {self.invitation.pool}"
        return "headway pool start" if self.name == DEFAULT else f"headway pool start {self.name}"

    @property
    def exists(self) -> bool:
        """Whether there is such a pool, though its manager may have been killed. One on another host may always be."""
        return self.invitation is not None or os.path.islink(self.link)

    def connect(self) -> socket.socket:
        """Connect to the pool's manager; a sentence says how to start one if there is none."""
        try:
            return self._connect_here() if self.invitation is None else self._connect_by(self.invitation)
        except OSError as error:
            raise self._unreachable(error) from error

    def _connect_here(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_ANSWER_WITHIN_S)
        try:
            with short_path(self.link.parent, LINK) as path:
                connection.connect(path)
        except OSError:
            connection.close()
            raise
        return connection

    def _connect_by(self, invitation: Invitation) -> socket.socket:
        plain = socket.create_connection(invitation.host_and_port, _ANSWER_WITHIN_S)
        try:
            connection = invitation.tls().wrap_socket(plain)
            connection.sendall(invitation.first_line)
        except BaseException:
            plain.close()
            raise
        return connection

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the pool's manager; an OSError if it does not answer, a SiteError if it is another's."""
        try:
            if (invitation := self.invitation) is not None:
                host, port = invitation.host_and_port
                reader, writer = await asyncio.open_connection(
                    host, port, ssl=invitation.tls(), limit=LONGEST_LINE_BYTES
                )
                writer.write(invitation.first_line)
                return reader, writer
            with short_path(self.link.parent, LINK) as path:
                return await asyncio.open_unix_connection(path, limit=LONGEST_LINE_BYTES)
        except (ssl.SSLCertVerificationError, PermissionError) as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: OSError) -> SiteError:
        if isinstance(error, ssl.SSLCertVerificationError):
            where = self.invitation.address if self.invitation else ""
            todo = "ask the pool's owner for a new invitation"
            return SiteError("what answers here is not the pool of this invitation", where=where, todo=todo)
        if isinstance(error, PermissionError):
            todo = "its owner gives access to a group with `headway pool start DIRECTORY --group GROUP`"
            return SiteError("other users cannot reach this pool", where=str(self.directory), todo=todo)
        state = "does not answer: its manager was stopped or killed" if self.exists else "is not there"
        return SiteError(f"the pool {self.name!r} {state}", todo=f"start it with `{self.start}`")

    def is_ours(self, connection: socket.socket) -> bool:
        """Whether the pool at the other end runs under this very account: only then may it know all that we know."""
        return self.invitation is None and peer_of(connection)[1] == os.geteuid()

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


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end of a unix socket, as the kernel knows them."""
    process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return process, user
