"""Orphans: processes of an attempt whose parent died. They become children of this process, which must reap them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from headway.workers.trees.group import Group
from headway.workers.trees.processes import Process, children_lookup, marker_of, read_process

_MOST_PASSES = 20  # against a process that forks and ends all the time
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


class ReapedProcess(NamedTuple):
    """What the kernel tells about a process when it is reaped."""

    pid: int
    status: int
    cpu_s: float
    largest_bytes: int


class Owner(Protocol):
    """A running attempt."""

    group: Group
    requested_ticks: float  # clock ticks since boot when it was asked for: nothing of it is older

    def reaped(self, remains: ReapedProcess) -> None:
        """One of its orphans has ended."""


def set_subreaper(wanted: bool) -> bool:
    """Whether this process inherits its descendants' orphans in place of init; returns what was so before."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become a child subreaper")
    return bool(before.value)


class Orphans:
    """This process's children other than those it started itself.

    Which those are is told by their session: every attempt's first process opens one of its own, so a child in our
    own session was started by somebody else in this process, and is left alone.
    """

    def __init__(self) -> None:
        self._session = os.getsid(0)
        self.seen_all = True  # by the last collecting
        self.left = False  # whether there were any

    def collect(self, owners: Iterable[Owner], spawner_pid: int) -> None:
        """Reap the ended, hand the living to the attempts they belong to, kill those that belong to none any more.

        Whoever ends leaves its own children to us. So after a reaping there may be some that were not in the list yet:
        only a pass that found nobody dead has seen everybody.
        """
        for _ in range(_MOST_PASSES):
            orphans = self._find(spawner_pid)
            for orphan in orphans:
                self._place(orphan, list(owners))
            self.seen_all = not any(orphan.dead for orphan in orphans)
            self.left = bool(orphans)
            if self.seen_all:
                return

    def _find(self, spawner_pid: int) -> list[Process]:
        myself = read_process(os.getpid())
        if myself is None:
            return []
        # The kernel gives orphans to the first thread, so the other threads' children need not be listed.
        children = (read_process(pid) for pid in children_lookup()(myself._replace(threads=1)) if pid != spawner_pid)
        return [child for child in children if child is not None and child.session != self._session]

    def _place(self, orphan: Process, owners: list[Owner]) -> None:
        # Nothing of an attempt is older than the attempt. So even a daemon that wiped off every trace (a new session,
        # an empty environment, too quick to have been seen) may have only one possible owner, or none.
        possible = [owner for owner in owners if owner.requested_ticks <= orphan.start_ticks + 1]
        owner = next((owner for owner in possible if owner.group.owns(orphan)), None)
        marked = owner is None and not orphan.dead and marker_of(orphan.pid) is not None  # of an attempt that is over
        if owner is None and len(possible) == 1 and not marked:
            owner = possible[0]
        if orphan.dead:
            remains = _reap(orphan.pid)
            if owner and remains:
                owner.group.forget_orphan(orphan.pid)
                owner.reaped(remains)
        elif owner:
            owner.group.adopt(orphan.pid)
        elif marked or not possible:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(orphan.pid, signal.SIGKILL)


def _reap(pid: int) -> ReapedProcess | None:
    try:
        reaped, status, usage = os.wait4(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return ReapedProcess(reaped, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024) if reaped else None
