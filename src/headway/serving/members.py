"""The members of a pool: who they are, and what they may use."""

from __future__ import annotations

import os
import pwd
import stat
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


class Member(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a member, a user of this host, is entitled to."""

    terms: Share = Share()

    def most(self, room: Resources) -> Resources:
        """The part of a room that the member may use at a time."""
        cores, size = self.terms.most_cores, self.terms.most_memory_bytes
        room = room if cores is None else room.replace(cores=min(room.cores, cores))
        return room if size is None else room.replace(memory_bytes=min(room.memory_bytes, int(size)))


class Sharing(Struct, frozen=True):
    """Who may use a pool besides its owner, and how; a file in the pool's directory, which only its owner can read."""

    group: str = ""  # its users may connect on this host
    members: dict[str, Member] = field(default_factory=dict)  # by the name of the user

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
            reason = " ".join(str(error).split())  # names in the file may hold line ends
            todo = f"correct it, or delete it and invite the members again; {reason}"
            raise InputError(
                "this file does not say who may use the pool", where=str(directory / FILE), todo=todo
            ) from None

    def write(self, directory: Path) -> None:
        """Write the file."""
        try:
            write_whole(directory / FILE, msgspec.json.encode(self), durable=True)
        except OSError as error:
            raise SiteError(f"cannot write who may use the pool: {error.strerror}", where=str(directory)) from error


def check_access(join: protocol.Join, uid: int) -> None:
    """Raise an `InputError` unless this is a run of the member with this uid, and the pool's account can work there."""
    directory = Path(join.directory)
    run = run_of(join)
    if not join.number.isdigit() or Path(join.home) != run.jobs / "home.json" or not directory.is_absolute():
        raise InputError("this is not a run of Headway in its own directory", where=join.directory)
    account = owner_name()
    for path in (directory, run.tasks):
        if not os.path.isdir(path):
            raise InputError(f"the pool's account {account} does not see this directory", where=str(path))
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            todo = "`chgrp` the directory to a group of both accounts, and `chmod g+rwx` it"
            raise InputError(f"the pool's account {account} may not write here", where=str(path), todo=todo)
    check_owner(join, uid, run.tasks)


def check_owner(join: protocol.Join, uid: int, path: Path) -> None:
    """Raise an `InputError` unless the way from a run's directory to `path` leads through the member's own folders.

    `path` is the run's folder of tasks, or that of an attempt, which need not exist yet and which the pool makes. Each
    folder is opened below the one before, and none may be a link: a link could lead to the run of another member.
    """
    directory = here = Path(join.directory)
    of_run = len(run_of(join).tasks.parts) - len(directory.parts)  # these folders must be there
    handle, number = -1, 0
    try:
        handle = os.open(directory, os.O_PATH | os.O_CLOEXEC)
        for number, name in enumerate(path.relative_to(directory).parts, start=1):
            here /= name
            below = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
            os.close(handle)
            handle = below
            seen = os.fstat(handle)
            if not stat.S_ISDIR(seen.st_mode):
                raise InputError("this is not a folder, or a link to one", where=str(here), todo="move it away")
            if seen.st_uid != uid and (number <= of_run or seen.st_uid != os.geteuid()):
                raise InputError("this run belongs to another user", where=str(here))
    except OSError as error:
        if not (isinstance(error, FileNotFoundError) and number > of_run):
            what = f"the pool's account {owner_name()} cannot look at this folder: {error.strerror}"
            raise InputError(what, where=str(here)) from None
    finally:
        if handle >= 0:
            os.close(handle)


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
