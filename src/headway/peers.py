"""Who answers at a unix socket, and who could have put the socket there: clients ask before they send anything.

A path says little where others can write to a directory above: between two looks at it they can put another folder in
its place. So the folder is opened once and everything is asked of that handle, and the kernel says which user listens.
`headway-exec` has the same rule in Perl.

`headway exec` starts for each command, so this imports only what Python has built in.
"""

import _socket
import os
import stat
import sys

_OPEN = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_ROOT = 0
_MOST_LINKS = 40  # as of the kernel
_CREDENTIALS_BYTES = 12  # process, user and group


class UntrustedError(PermissionError):
    """A socket that another user could have made: what is wrong, where, and what to do, in one sentence."""

    def __init__(self, what: str, *, where: str, todo: str) -> None:
        super().__init__(f"{where}: {what}; {todo}")
        self.what, self.where, self.todo = what, where, todo


def connect(
    connection: _socket.socket, folder: str, name: str, *, check_above: bool = True, of_others: bool = False
) -> None:
    """Connect to the socket `folder/name`; an `UntrustedError` unless the owner of the folder listens there.

    The folder must be one that `open_ours` opens. With `of_others`, it may also belong to another user, if only root,
    this user and that user can change where its path leads: then the path says whom the caller means.
    """
    is_other = of_others and os.stat(folder).st_uid != os.geteuid()
    handle = _open_fixed(folder) if is_other else open_ours(folder, check_above=check_above)
    try:
        owner = os.stat(handle).st_uid
        connection.connect(f"/proc/self/fd/{handle}/{name}")  # a short path: it is limited to 107 bytes
    finally:
        os.close(handle)
    user = peer_of(connection)[1]
    if user != owner:
        what = f"a process of another user (id {user}) answers here"
        raise UntrustedError(what, where=os.path.join(folder, name), todo="nothing was sent; ask that user why")


def open_ours(folder: str, *, check_above: bool = True) -> int:
    """Open a folder, as a handle; an `UntrustedError` unless it belongs to this user and others cannot write to it.

    With `check_above`, the directories above must be such that not everybody can put another folder in its place.
    """
    handle = os.open(folder, _OPEN)
    try:
        _check_ours(handle)
        if check_above:
            _check_above(handle)
    except BaseException:
        os.close(handle)
        raise
    return handle


def peer_of(connection: _socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a unix socket, as the kernel knows them."""
    known = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS_BYTES)
    return int.from_bytes(known[:4], sys.byteorder), int.from_bytes(known[4:8], sys.byteorder)


def _check_ours(handle: int) -> None:
    """Refuse a folder that belongs to another user or that others can write to."""
    seen = os.stat(handle)
    if seen.st_uid != os.geteuid():
        what = f"this folder belongs to another user (id {seen.st_uid})"
        raise UntrustedError(what, where=_path(handle), todo="start a service of your own in another directory")
    if seen.st_mode & 0o022 and _has_modes(handle):
        where = _path(handle)
        todo = f"move it away, or if you trust all that is in it, `chmod -R go-w {where}`"
        raise UntrustedError("others can write to this folder, and may have", where=where, todo=todo)


def _check_above(handle: int) -> None:
    """Refuse a folder below a directory in which everybody can rename it.

    The owner and the group of such a directory are colleagues: they are let be, since what they put there is not
    talked to either. Where the sticky bit is set, only the owner of an entry can rename it.
    """
    below, up = os.stat(handle), ".."
    while not os.path.samestat(above := os.stat(up, dir_fd=handle), below):
        if above.st_mode & stat.S_IWOTH:
            if not above.st_mode & stat.S_ISVTX and _has_modes(handle, up):
                where = _path(handle, up)
                what = f"everybody can write to this directory, and so replace {_path(handle)}"
                todo = f"work elsewhere, or `chmod o-w {where}`, or `chmod +t {where}` if all are to write there"
                raise UntrustedError(what, where=where, todo=todo)
            if below.st_uid not in (_ROOT, os.geteuid()) and _has_modes(handle, up):
                what = f"another user (id {below.st_uid}) has made this in a directory where everybody can write"
                todo = "work in a directory of your own"
                raise UntrustedError(what, where=_path(handle, up.removesuffix("..")), todo=todo)
        below, up = above, f"{up}/.."


def _open_fixed(folder: str) -> int:
    """Open a directory by a path that only root, this user and the directory's owner can lead elsewhere."""
    passed: list[int] = []  # handles of the directories on the way
    try:
        passed.append(os.open("/", _OPEN))
        to_go = os.path.abspath(folder).split("/")[::-1]
        links = 0
        while to_go:
            name, above = to_go.pop(), passed[-1]
            if name in ("", "."):
                continue
            entry = os.stat(name, dir_fd=above, follow_symlinks=False)
            _check_kept(above, entry)
            if stat.S_ISLNK(entry.st_mode) and links < _MOST_LINKS:
                links += 1
                target = os.readlink(name, dir_fd=above)
                to_go += target.split("/")[::-1]
                name = "/" if target.startswith("/") else "."
            passed.append(os.open(name, _OPEN | os.O_NOFOLLOW, dir_fd=above))
        _check_no_third(passed)
        return os.dup(passed[-1])
    finally:
        for handle in passed:
            os.close(handle)


def _check_kept(handle: int, entry: os.stat_result) -> None:
    """Refuse a directory in which others than its owner can replace an entry."""
    mode = os.stat(handle).st_mode
    is_sticky = mode & stat.S_ISVTX and entry.st_uid in (_ROOT, os.geteuid())
    if mode & 0o022 and not is_sticky:
        where = _path(handle)
        what = "others can write to this directory, and could put another pool in the place of this one"
        todo = f"ask the pool's owner to `chmod go-w {where}`, or to move the pool"
        raise UntrustedError(what, where=where, todo=todo)


def _check_no_third(passed: list[int]) -> None:
    """Refuse directories of users other than root, this user and the owner of the last directory."""
    known = (_ROOT, os.geteuid(), os.stat(passed[-1]).st_uid)
    for handle in passed:
        if (owner := os.stat(handle).st_uid) not in known:
            what = f"this belongs to a third user (id {owner}), who could put another pool in the place of this one"
            raise UntrustedError(what, where=_path(handle), todo="ask the pool's owner to move the pool")


def _path(handle: int, up: str = "") -> str:
    return os.path.realpath(f"/proc/self/fd/{handle}/{up}")


def _has_modes(handle: int, up: str = "") -> bool:
    """Whether the file system there knows who can write; asked only where all seem to."""
    from pathlib import Path

    from headway.file_systems import without_modes

    return not without_modes(Path(_path(handle, up)))
