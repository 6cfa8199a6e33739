"""Who calls: the owner of a pool, a member, or nobody that it serves."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import NamedTuple

from headway.model.errors import InputError
from headway.peers import peer_of
from headway.serving.members import Sharing, user_name

_SUPERVISOR = b"headway.workers.supervisor"
_LOOKS = 10
_NO_TASKS = "a task cannot talk to the pool that runs it"


class Caller(NamedTuple):
    """A user whom the pool serves: a member by that name, or the owner, who may do everything."""

    name: str
    is_owner: bool = False
    uid: int = -1  # no user's


def caller_of(connection: socket.socket, sharing: Sharing, pool: Path) -> Caller | str:
    """Who is at the other end of a connection, as the kernel knows; the user's name if the pool does not serve them.

    A task of the pool has the owner's account, and is still not the owner: an `InputError`.
    """
    process, uid = peer_of(connection)
    if uid == os.geteuid():
        if _is_task(process, pool):
            raise InputError(_NO_TASKS)
        return Caller(user_name(uid), is_owner=True, uid=uid)
    name = user_name(uid)
    return Caller(name, uid=uid) if name in sharing.members else name


def _is_task(process: int, pool: Path) -> bool:
    """Whether a process descends from a supervisor of the pool, which keeps all descendants of its tasks.

    One whose ancestors end while they are looked at, time and again, is taken for a task.
    """
    for _ in range(_LOOKS):
        found = _descends(process, pool)
        if found is not None:
            return found
    return True


def _descends(process: int, pool: Path) -> bool | None:
    """Whether a supervisor of the pool is among a process's ancestors; None if one of them has just ended."""
    while process > 1:
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            above = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            return False if _is_anothers(process) else None
        if _SUPERVISOR in words and any(word.startswith(os.fsencode(pool) + b"/") for word in words):
            return True
        process = int(above)
    return False


def _is_anothers(process: int) -> bool:
    """Whether a process runs under another account: some systems hide such processes, and no supervisor is above."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False
