"""`Membership`: whom a pool serves now, as its owner changes who may use it while it runs."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path

from headway.model.errors import HeadwayError, InputError
from headway.model.records import ShareSet
from headway.model.resources import Resources
from headway.model.share import Share
from headway.serving.callers import Caller, caller_of
from headway.serving.members import FILE, Member, Sharing, check_access, check_owner, owner_name, run_of
from headway.workers import protocol

MOST_HANDED = 10_000  # tasks of a member that wait or run, and ...
_MOST_PER_CORE = 10  # ... as many more for each core that the pool offers: far more than a run of Headway hands over
_UID = re.compile(r"[0-9a-f]{12}")


class Membership:
    """Follows the file in a pool's directory that says who its members are; the owner is always served."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: tuple[int, int] | None = None  # what tells the file that was read from later ones
        self.owner = owner_name()
        self.sharing = Sharing()
        self.terms: dict[str, Share] = {}  # by member, as the pool's run knows them

    def look(self) -> list[ShareSet]:
        """Read the file if it has changed; return what the pool's run has to know of that."""
        try:
            status = (self._directory / FILE).stat()
            now = (status.st_mtime_ns, status.st_ino)
            if now == self._read:
                return []
            self.sharing = Sharing.read(self._directory)
        except (OSError, HeadwayError):  # there is none, or it is broken: the pool serves its owner alone
            self.sharing, now = Sharing(), (0, 0)
        self._read = now
        named = {name: member.terms for name, member in self.sharing.members.items()}
        wanted = dict.fromkeys(self.terms, Share()) | named
        changed = {name: terms for name, terms in wanted.items() if terms != self.terms.get(name, Share())}
        self.terms |= changed
        return [ShareSet(time.time(), name, terms) for name, terms in changed.items()]

    def has(self, user: str) -> bool:
        """Whether a user is served."""
        return user == self.owner or user in self.sharing.members

    def part(self, user: str, room: Resources) -> Resources:
        """What a user may have of a room at a time."""
        return self.sharing.members.get(user, Member()).most(room)

    def caller(self, connection: socket.socket) -> Caller | str:
        """Who is at the other end of a connection: one who is served, or the name of one who is not."""
        return caller_of(connection, self.sharing, self._directory)

    def check_run(self, join: protocol.Join, caller: Caller, known_user: str | None) -> None:
        """Raise an `InputError` if a caller may not bring this run; `known_user` has brought it before."""
        if not _UID.fullmatch(join.run) or known_user not in (None, caller.name):
            raise InputError("this run belongs to another user", where=join.directory)
        if not caller.is_owner:
            check_access(join, caller.uid)

    def check_start(
        self, join: protocol.Join, caller: Caller, start: protocol.Start, handed: int, room: Resources
    ) -> None:
        """Raise an `InputError` if a member who has `handed` over as many tasks hands over what no run would."""
        most = MOST_HANDED + int(_MOST_PER_CORE * room.cores)
        if handed >= most:
            todo = "wait for some of them, then `headway resume`"
            raise InputError(f"{join.user} has {most:,} tasks in this pool, and it takes no more", todo=todo)
        if Path(start.directory) != run_of(join).attempt(start.task.id, start.attempt):
            raise InputError("this is not the folder of an attempt of this run", where=start.directory)
        check_owner(join, caller.uid, Path(start.directory))  # again: the paths may lead elsewhere by now
        for amounts in (start.held or start.limits, start.limits):
            if min(amounts.cores, amounts.memory_bytes, amounts.disk_bytes) < 0:
                raise InputError("a task cannot take less than nothing", where=start.task.id)


def no_member(name: str) -> str:
    """Say that a pool does not serve a user."""
    return f"{name} is no member of this pool, or not any more; its owner invites with `headway pool invite`"
