"""Who calls: the owner of a pool, a member, or nobody that it serves."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

from headway.model.errors import InputError
from headway.serving.members import Sharing, user_name
from headway.workers.invitation import TOKEN_BYTES
from headway.workers.pool_place import peer_of

_TOKEN_WITHIN_S = 30.0
_SUPERVISOR = b"headway.workers.supervisor"
_LOOKS = 10
_NO_TASKS = "a task cannot talk to the pool that runs it"


class Caller(NamedTuple):
    """A user whom the pool serves: a member by that name, or the owner, who may do everything."""

    name: str
    is_owner: bool = False


async def caller_of(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sharing: Sharing, pool: Path
) -> Caller | str:
    """Who is at the other end of a connection; the user's name if the pool does not serve that user.

    On this host the kernel knows; through TLS the first line is a member's token, and of anybody else no more is looked
    at. A task of the pool has the owner's account, and is still not the owner: an `InputError`.
    """
    if writer.get_extra_info("ssl_object") is not None:
        async with asyncio.timeout(_TOKEN_WITHIN_S):
            line = await reader.readexactly(TOKEN_BYTES + 1)
        name = sharing.by_token(line.decode(errors="replace").removesuffix("\n"))
        return Caller(name) if name is not None else ""
    process, uid = peer_of(writer.get_extra_info("socket"))
    if uid == os.geteuid():
        if _is_task(process, pool):
            raise InputError(_NO_TASKS)
        return Caller(user_name(uid), is_owner=True)
    name = sharing.by_user(uid)
    return Caller(name) if name is not None else user_name(uid)


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
