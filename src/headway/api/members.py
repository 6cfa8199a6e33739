"""`invite`, `members` and `revoke`: who may use a pool besides its owner."""

from __future__ import annotations

import grp
import os
import pwd
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from headway import locks
from headway.api.answers import Answer
from headway.model.errors import BusyError, InputError, SiteError
from headway.model.share import Share
from headway.serving.members import Member, Sharing, owner_name
from headway.workers.pool_place import DEFAULT, PoolPlace

_LOCK = "sharing.lock"
_NAME = re.compile(r"[\w.+-]+")


class PoolShare(Answer, frozen=True):
    """A member of a pool, and what the member is entitled to."""

    name: str
    weight: float
    most_cores: float | None
    most_memory_bytes: float | None


class PoolMembers(Answer, frozen=True):
    """The members of a pool, and the group that can reach it."""

    pool: str
    group: str
    members: list[PoolShare]


class Invited(Answer, frozen=True):
    """A member who was invited."""

    pool: str
    member: str
    message: str


class Revoked(Answer, frozen=True):
    """One who is no member any more."""

    pool: str
    member: str
    message: str


def invite(
    member: str,
    name: str = DEFAULT,
    *,
    weight: float = 1.0,
    cores: float | None = None,
    memory_bytes: float | None = None,
    i_trust_them: bool = False,
) -> Invited:
    """Let the user `member` of this host use a pool, and so run any command as this account: see `what_it_means`.

    A member who is invited again has the new weight and limits.
    """
    place = _owned(name)
    if not _NAME.fullmatch(member):
        raise InputError(f"{member!r} cannot be the name of a member", todo="use letters, digits and -")
    if member == owner_name():
        raise InputError(f"{member} owns this pool, and needs no invitation")
    terms = Share(weight=weight, most_cores=cores, most_memory_bytes=memory_bytes)
    with _changing(place.directory) as sharing:
        _check_user(member, sharing, place)
        if not i_trust_them and member not in sharing.members:
            raise InputError(what_it_means(member), todo="if that is what you want, add --i-trust-them")
        structs.replace(sharing, members=sharing.members | {member: Member(terms)}).write(place.directory)
    return Invited(name, member, f"{member} may use the pool {name!r}: `headway run --pool {place.directory}`")


def what_it_means(member: str) -> str:
    """What an invitation lets a member do."""
    account = owner_name()
    return (
        f"{member} will be able to run any command as the account {account}, "
        f"and to read, change and delete whatever {account} can"
    )


def members(name: str = DEFAULT) -> PoolMembers:
    """Return who may use a pool, and how."""
    sharing = Sharing.read(_owned(name).directory)
    each = [
        PoolShare(member, it.terms.weight, it.terms.most_cores, it.terms.most_memory_bytes)
        for member, it in sorted(sharing.members.items())
    ]
    return PoolMembers(name, sharing.group, each)


def revoke(member: str, name: str = DEFAULT) -> Revoked:
    """Let a member use a pool no more: what waits is refused and what runs is stopped, within a second."""
    place = _owned(name)
    with _changing(place.directory) as sharing:
        if member not in sharing.members:
            known = ", ".join(sharing.members) or "there are none"
            raise InputError(f"{member!r} is no member of the pool {name!r}", todo=f"members: {known}")
        left = {each: it for each, it in sharing.members.items() if each != member}
        structs.replace(sharing, members=left).write(place.directory)
    return Revoked(
        name, member, f"{member} is no member of the pool {name!r} any more; what runs for {member} is stopped"
    )


# --- what `start_pool` needs ---


def share_pool(name: str, directory: Path, group: str | None) -> int | None:
    """Keep the group that can reach a pool, and return its number; what is not given is as it was."""
    with _changing(directory) as before:
        sharing = before if group is None else structs.replace(before, group=group)
        if sharing.group and "/" not in name:
            todo = f"name a directory that they can reach: `headway pool start /srv/pool --group {sharing.group}`"
            raise InputError(f"members cannot reach a pool in {directory}", where="--group", todo=todo)
        try:
            number = grp.getgrnam(sharing.group).gr_gid if sharing.group else None
        except KeyError:
            raise InputError(f"there is no group {sharing.group!r} here", where="--group") from None
        if sharing != before:
            sharing.write(directory)
    return number


@contextmanager
def _changing(directory: Path) -> Iterator[Sharing]:
    """Hold the lock of a pool's file while it is read and written again."""
    try:
        lock = locks.take(directory / _LOCK, str(os.getpid()))
    except OSError as error:
        raise SiteError(f"cannot change who may use the pool: {error.strerror}", where=str(directory)) from error
    if lock is None:
        raise BusyError("another program changes who may use this pool", where=str(directory), todo="try again")
    try:
        yield Sharing.read(directory)
    finally:
        os.close(lock)


def _owned(name: str) -> PoolPlace:
    place = PoolPlace.of(name)
    if not os.path.isdir(place.directory):
        todo = f"start it with `{place.start} --group GROUP`"
        raise InputError(f"there is no pool {name!r}", where=str(place.directory), todo=todo)
    return place


def _check_user(member: str, sharing: Sharing, place: PoolPlace) -> None:
    try:
        pwd.getpwnam(member)
    except KeyError:
        raise InputError(f"there is no user {member!r} here", todo="name a user of this host") from None
    if not sharing.group:
        todo = f"let a group reach it with `{place.start} --group GROUP`"
        raise InputError("users of this host cannot reach this pool yet", where=str(place.directory), todo=todo)
