"""The members of a pool: who they are, what they may use, and in which folders their tasks may run."""

from __future__ import annotations

import hashlib
import hmac
import os
import pwd
from pathlib import Path

import msgspec
from msgspec import Struct, field

from headway.journal.folder import RunFolder
from headway.model.errors import InputError, SiteError
from headway.model.resources import Resources
from headway.model.share import Share
from headway.workers import protocol
from headway.workers.whole_file import write_whole

FILE = "sharing.json"


class Member(Struct, frozen=True, omit_defaults=True):
    """What a member is entitled to, and how the pool knows the member: by the user of this host, or by a token."""

    terms: Share = Share()
    token_sha256: str = ""  # empty: the user of this name on this host

    def most(self, room: Resources) -> Resources:
        """The part of a room that the member may use at a time."""
        cores, size = self.terms.most_cores, self.terms.most_memory_bytes
        room = room if cores is None else room.replace(cores=min(room.cores, cores))
        return room if size is None else room.replace(memory_bytes=min(room.memory_bytes, int(size)))


class Sharing(Struct, frozen=True):
    """Who may use a pool besides its owner, and how; a file in the pool's directory, which only its owner can read."""

    group: str = ""  # its users may connect on this host
    listen: str = ""  # HOST:PORT for members on other hosts; empty: nowhere
    folders: tuple[str, ...] = ()  # in which the workflows of members may lie
    confined: bool = True  # the kernel keeps tasks from everything else of the account
    members: dict[str, Member] = field(default_factory=dict)

    @staticmethod
    def read(directory: Path) -> Sharing:
        """Read the file in a pool's directory; without one, the pool is its owner's alone."""
        try:
            return msgspec.json.decode((directory / FILE).read_bytes(), type=Sharing)
        except FileNotFoundError:
            return Sharing()
        except OSError as error:
            raise SiteError(f"cannot read who may use the pool: {error.strerror}", where=error.filename) from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            todo = f"mend it, or delete it and invite the members again; {error}"
            raise InputError(
                "this file does not say who may use the pool", where=str(directory / FILE), todo=todo
            ) from None

    def write(self, directory: Path) -> None:
        """Write the file."""
        try:
            write_whole(directory / FILE, msgspec.json.encode(self), durable=True)
        except OSError as error:
            raise SiteError(f"cannot write who may use the pool: {error.strerror}", where=str(directory)) from error

    def by_user(self, uid: int) -> str | None:
        """The member who is this user of this host."""
        name = user_name(uid)
        return name if (member := self.members.get(name)) is not None and not member.token_sha256 else None

    def by_token(self, token: str) -> str | None:
        """The member with this token."""
        digest = digest_of(token)
        found = [name for name, it in self.members.items() if hmac.compare_digest(it.token_sha256, digest)]
        return found[0] if found else None

    def check_folder(self, join: protocol.Join) -> None:
        """Raise an `InputError` if a run does not lie in the pool's folders."""
        real = os.path.realpath(run_of(join).path)
        allowed = [os.path.realpath(folder) for folder in self.folders]
        if not any(real.startswith(folder.rstrip("/") + "/") for folder in allowed):
            todo = f"it runs those in {', '.join(self.folders)}"
            raise InputError("this pool does not run workflows here", where=join.directory, todo=todo)

    def check(self, join: protocol.Join) -> None:
        """Raise an `InputError` if a member's run does not lie in the pool's folders, or cannot be worked with there.

        All paths that the pool uses follow from the directory: a member cannot name others.
        """
        directory = Path(join.directory)
        run = run_of(join)
        if not join.number.isdigit() or Path(join.home) != run.jobs / "home.json" or not directory.is_absolute():
            raise InputError("this is not a run of Headway in its own directory", where=join.directory)
        self.check_folder(join)
        real = os.path.realpath(run.path)
        if real != str(run.path):
            raise InputError("a link lies on the way to this run", where=str(run.path), todo=f"run it in {real}")
        account = owner_name()
        for path in (directory, run.tasks):
            if not os.path.isdir(path):
                raise InputError(f"the pool's account {account} does not see this directory", where=str(path))
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                todo = "`chgrp` the directory to a group of both accounts, and `chmod g+rwx` it"
                raise InputError(f"the pool's account {account} may not write here", where=str(path), todo=todo)


def run_of(join: protocol.Join) -> RunFolder:
    """The folder of a run that uses a pool."""
    return RunFolder(Path(join.directory) / ".headway" / "runs" / join.number)


def user_name(uid: int) -> str:
    """The name of a user of this host; the number, if there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def owner_name() -> str:
    """The name of the account under which this process, and so its pool, runs."""
    return user_name(os.geteuid())


def digest_of(token: str) -> str:
    """What is kept of a token: the pool can tell the right one, and cannot lose it."""
    return hashlib.sha256(token.encode()).hexdigest()
