"""`invite`, `members` and `revoke`: who may use a pool besides its owner."""

from __future__ import annotations

import grp
import os
import pwd
import re
import secrets
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import structs

from headway import locks
from headway.api.answers import Answer
from headway.model.errors import BusyError, InputError, SiteError
from headway.model.share import Share
from headway.serving.members import Member, Sharing, digest_of, owner_name
from headway.workers.confinement import can_confine, homes
from headway.workers.invitation import Invitation
from headway.workers.pool_place import DEFAULT, PoolPlace

_LOCK = "sharing.lock"
_NAME = re.compile(r"[\w.+-]+")
_ANY_HOST = ("", "0.0.0.0", "::", "[::]")  # noqa: S104 - recognised, not bound here


class PoolShare(Answer, frozen=True):
    """A member of a pool, and what the member is entitled to."""

    name: str
    weight: float
    most_cores: float | None
    most_memory_bytes: float | None
    by: str  # how the pool knows the member: "user" of this host, or "token"


class PoolMembers(Answer, frozen=True):
    """The members of a pool, how they reach it, and in which folders their workflows may lie."""

    pool: str
    group: str
    listen: str
    folders: tuple[str, ...]
    members: list[PoolShare]


class Invited(Answer, frozen=True):
    """A member who was invited; with an invitation, the file that was written."""

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
    to: str | Path | None = None,
) -> Invited:
    """Let the user `member` of this host use a pool; or, with a file `to`, whoever gets that file, from other hosts.

    A member who is invited again has the new weight and limits, and a new token.
    """
    place = _owned(name)
    if not _NAME.fullmatch(member):
        raise InputError(f"{member!r} cannot be the name of a member", todo="use letters, digits and -")
    if member == owner_name():
        raise InputError(f"{member} owns this pool, and needs no invitation")
    terms = Share(weight=weight, most_cores=cores, most_memory_bytes=memory_bytes)
    with _changing(place.directory) as sharing:
        if not sharing.folders:
            todo = f"say in which with `{place.start} --folder DIRECTORY`"
            raise InputError("members' workflows may lie in no folder yet", where=str(place.directory), todo=todo)
        if to is None:
            token = ""
            _check_user(member, sharing, place)
        else:
            token = secrets.token_urlsafe(32)
            _invitation(sharing, place, member, token).write(Path(to))
        added = Member(terms, digest_of(token) if token else "")
        structs.replace(sharing, members=sharing.members | {member: added}).write(place.directory)
    way = f"give {to} to nobody else" if to is not None else f"`headway run --pool {place.directory}`"
    return Invited(name, member, f"{member} may use the pool {name!r}: {way}")


def members(name: str = DEFAULT) -> PoolMembers:
    """Return who may use a pool, and how."""
    sharing = Sharing.read(_owned(name).directory)
    each = [
        PoolShare(
            member,
            it.terms.weight,
            it.terms.most_cores,
            it.terms.most_memory_bytes,
            "token" if it.token_sha256 else "user",
        )
        for member, it in sorted(sharing.members.items())
    ]
    return PoolMembers(name, sharing.group, sharing.listen, sharing.folders, each)


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


def share_pool(
    name: str,
    directory: Path,
    group: str | None,
    listen: str | None,
    folders: Sequence[str],
    confined: bool | None,
) -> Sharing:
    """Keep how members reach a pool, and return it; what is not given is as it was."""
    with _changing(directory) as before:
        sharing = structs.replace(
            before,
            group=before.group if group is None else group,
            listen=before.listen if listen is None else listen,
            folders=tuple(os.path.abspath(folder) for folder in folders) or before.folders,
            confined=before.confined if confined is None else confined,
        )
        if (sharing.group or sharing.listen) and not sharing.folders:
            todo = "add --folder DIRECTORY, for each folder in which they may"
            raise InputError("members' workflows may lie in no folder yet", where="--folder", todo=todo)
        for folder in sharing.folders:
            _check_folder(folder, (str(directory), *homes()))
        if sharing.group and "/" not in name:
            todo = f"name a directory that they can reach: `headway pool start /srv/pool --group {sharing.group}`"
            raise InputError(f"members cannot reach a pool in {directory}", where="--group", todo=todo)
        if sharing.folders and sharing.confined and not can_confine():
            todo = "let members reach all that this account can with --unconfined, or start the pool on another host"
            raise SiteError("this kernel cannot confine tasks (it has no Landlock)", where="--folder", todo=todo)
        group_of(sharing)
        _port_of(sharing)
        if sharing != before:
            sharing.write(directory)
    return sharing


def group_of(sharing: Sharing) -> int | None:
    """The group whose users may connect."""
    if not sharing.group:
        return None
    try:
        return grp.getgrnam(sharing.group).gr_gid
    except KeyError:
        raise InputError(f"there is no group {sharing.group!r} here", where="--group") from None


def tls_of(sharing: Sharing, directory: Path) -> ssl.SSLContext | None:
    """The certificate with which a pool listens for members on other hosts; None if it does not."""
    if not sharing.listen:
        return None
    certificate, key = _certificate_and_key(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    return context


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
    if place.invitation is not None or not os.path.isdir(place.directory):
        todo = f"start it with `{place.start} --group GROUP --folder DIRECTORY`"
        raise InputError(f"there is no pool {name!r}", where=str(place.directory), todo=todo)
    return place


def _check_user(member: str, sharing: Sharing, place: PoolPlace) -> None:
    try:
        pwd.getpwnam(member)
    except KeyError:
        todo = "name a user of this host, or write an invitation for another one with --to FILE"
        raise InputError(f"there is no user {member!r} here", todo=todo) from None
    if not sharing.group:
        todo = f"let a group reach it with `{place.start} --group GROUP`"
        raise InputError("users of this host cannot reach this pool yet", where=str(place.directory), todo=todo)


def _invitation(sharing: Sharing, place: PoolPlace, member: str, token: str) -> Invitation:
    if not sharing.listen:
        todo = f"let it listen with `{place.start} --listen HOST:PORT`"
        raise InputError("this pool cannot be reached from other hosts yet", where=str(place.directory), todo=todo)
    host, _, port = sharing.listen.rpartition(":")
    address = f"{socket.getfqdn() if host in _ANY_HOST else host}:{port}"
    certificate, _ = _certificate_and_key(place.directory)
    return Invitation(place.name, member, address, certificate.read_text(), token)


def _check_folder(folder: str, kept: Sequence[str]) -> None:
    """Raise an `InputError` unless tasks of members may have this folder: nothing that the owner keeps lies there."""
    if not os.path.isdir(folder):
        raise InputError("there is no such directory", where=folder, todo="make it, or name another")
    real = os.path.realpath(folder)
    for path in map(os.path.realpath, kept):
        if path == real or path.startswith(real.rstrip("/") + "/"):
            what = f"members' tasks may write in this folder, and {path} lies in it"
            raise InputError(what, where=folder, todo="name a folder beside it, or below")


def _port_of(sharing: Sharing) -> None:
    host, colon, port = sharing.listen.rpartition(":")
    if sharing.listen and not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        todo = "write HOST:PORT, for example login1:8700"
        raise InputError(f"{sharing.listen!r} is no address to listen on", where="--listen", todo=todo)


def _certificate_and_key(directory: Path) -> tuple[Path, Path]:
    from headway.workers.pool.keys import certificate_and_key, make_keys

    try:
        make_keys(directory)
    except OSError as error:
        raise SiteError(f"cannot make the pool's keys: {error.strerror}", where=str(directory)) from error
    except ImportError as error:
        raise SiteError(
            f"a pool that listens needs the Python package {error.name}", todo="`pip install 'headway[slurm]'`"
        ) from error
    return certificate_and_key(directory)
