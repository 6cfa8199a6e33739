"""`Invitation`: the file with which a member reaches a pool from another host."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.model.errors import InputError, SiteError
from headway.workers.whole_file import write_whole

TOKEN_BYTES = 43  # as text; its 256 random bits cannot be guessed


class Invitation(Struct, frozen=True):
    """Where a pool listens, its certificate, and the member's token: whoever has the file is that member."""

    pool: str
    member: str
    address: str  # HOST:PORT
    certificate: str  # of the pool, as PEM: no other program can pretend to be the pool
    token: str

    @staticmethod
    def read(path: Path) -> Invitation:
        """Read an invitation; an error if others can read it, too."""
        try:
            if path.stat().st_mode & 0o077:
                todo = f"`chmod 600 {path}`, and ask for a new invitation if others have read it"
                raise InputError("this invitation can be read by other users", where=str(path), todo=todo)
            return msgspec.json.decode(path.read_bytes(), type=Invitation)
        except OSError as error:
            raise SiteError(f"cannot read the invitation: {error.strerror}", where=str(path)) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            todo = "name the file that `headway pool invite` wrote, or the pool's directory"
            raise InputError("this file is not an invitation to a pool", where=str(path), todo=todo) from None

    def write(self, path: Path) -> None:
        """Write the file, which only its owner can read."""
        if os.path.lexists(path):
            raise InputError("this file exists already", where=str(path), todo="name another with --to")
        try:
            write_whole(path, msgspec.json.encode(self))
        except OSError as error:
            raise SiteError(f"cannot write the invitation: {error.strerror}", where=str(path)) from error

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Where the pool listens."""
        host, _, port = self.address.rpartition(":")
        return host, int(port)

    @property
    def first_line(self) -> bytes:
        """What the pool must hear first, through TLS: the token, so that nothing else of a stranger is looked at."""
        return f"{self.token}\n".encode()

    def tls(self) -> ssl.SSLContext:
        """The settings with which only the pool with this very certificate is talked to."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # the certificate itself is known, whatever the host is called
        try:
            context.load_verify_locations(cadata=self.certificate)
        except ssl.SSLError:
            raise InputError("the invitation's certificate is broken", todo="ask for a new invitation") from None
        return context
