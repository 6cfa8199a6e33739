"""Orphans: processes of attempts whose parent has died. They become children of this process, which reaps them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable
from typing import Protocol

from headway.workers.trees.group import Group
from headway.workers.trees.processes import (
    Process,
    children_lookup,
    is_named_witness,
    is_witness,
    marker_of,
    read_process,
)

_MOST_PASSES = 20  # a limit, in case a process forks and ends all the time
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


class Owner(Protocol):
    """A running attempt; `reaped` tells it that one of its orphans has ended."""

    group: Group
    witness: int | None  # the process that waits for the end of its first one
    requested_ticks: float  # clock ticks since boot when it was requested: all its processes are younger

    def reaped(self, pid: int, status: int, cpu_s: float, largest_bytes: int) -> None: ...

    def witness_ended(self) -> None: ...


def set_subreaper(wanted: bool) -> bool:
    """Make this process inherit its descendants' orphans in place of init, or undo that; return the old state."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a child subreaper")
    return bool(before.value)


class Orphans:
    """This process's children that it did not start itself.

    They are recognised by their session: each attempt's first process opens a new session, so a child in this process's
    own session was started by other code of this process, and is left alone.
    """

    def __init__(self, marker: str) -> None:
        """`marker` is in the environment of the spawners and their witnesses."""
        self._marker = marker
        self._session = os.getsid(0)
        self.seen_all = True  # whether the last `collect` found all orphans
        self.left = False  # whether it found any

    def collect(self, owners: Iterable[Owner], spawner_pid: int) -> None:
        """Reap dead orphans, assign living ones to their attempts, and kill those whose attempt is over.

        The children of a process that ends become orphans. After reaping there may be new ones, so only a pass that
        found no dead orphan has found all.
        """
        for _ in range(_MOST_PASSES):
            orphans = self._find(spawner_pid)
            for orphan in orphans:
                known = list(owners)
                if self._is_witness(orphan, known):  # of a spawner that has died: it ends by itself
                    self._see_witness(orphan, known)
                else:
                    self._assign(orphan, known)
            self.seen_all = not any(orphan.dead for orphan in orphans)
            self.left = bool(orphans)
            if self.seen_all:
                return

    def _find(self, spawner_pid: int) -> list[Process]:
        myself = read_process(os.getpid())
        if myself is None:
            return []
        # Orphans become children of the first thread, so the children of other threads need not be listed.
        children = (read_process(pid) for pid in children_lookup()(myself._replace(threads=1)) if pid != spawner_pid)
        return [child for child in children if child is not None and child.session != self._session]

    def _is_witness(self, orphan: Process, owners: list[Owner]) -> bool:
        if any(owner.witness == orphan.pid for owner in owners):
            return True
        if not orphan.dead:
            return is_witness(orphan.pid, self._marker)
        return is_named_witness(orphan.pid) and not any(owner.group.owns(orphan) for owner in owners)

    def _see_witness(self, witness: Process, owners: Iterable[Owner]) -> None:
        if witness.dead:
            _reap(witness.pid)
            for owner in [owner for owner in owners if owner.witness == witness.pid]:
                owner.witness_ended()

    def _assign(self, orphan: Process, owners: list[Owner]) -> None:
        # The processes of an attempt are younger than its request. So even for a daemon without any mark (new session,
        # empty environment, never sampled) there may be only one possible owner, or none.
        possible = [owner for owner in owners if owner.requested_ticks <= orphan.start_ticks + 1]
        owner = next((owner for owner in possible if owner.group.owns(orphan)), None)
        is_leftover = owner is None and not orphan.dead and marker_of(orphan.pid) is not None  # its attempt is over
        if owner is None and len(possible) == 1 and not is_leftover:
            owner = possible[0]
        if orphan.dead:
            reaped = _reap(orphan.pid)
            if owner and reaped:
                owner.group.forget_orphan(orphan.pid)
                owner.reaped(orphan.pid, *reaped)
        elif owner:
            owner.group.adopt(orphan.pid)
        elif is_leftover or not possible:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(orphan.pid, signal.SIGKILL)


def _reap(pid: int) -> tuple[int, float, int] | None:
    """Reap a child that has ended; return its wait status, CPU seconds and `ru_maxrss` in bytes."""
    try:
        reaped, status, usage = os.wait4(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return (status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024) if reaped else None
