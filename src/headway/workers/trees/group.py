"""`Group`: the processes of one attempt, however they are told apart from the others; `Groups`: where it comes from."""

from __future__ import annotations

import contextlib
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headway.workers.trees.processes import ChildrenOf, Process, catches

_KILL_ROUNDS = 10  # one after the other without a pause: who forks all the time must not get the time for it


class Sample(NamedTuple):
    """What a group holds at one moment."""

    held_bytes: int  # anonymous and shared memory, at least
    summed_bytes: int  # the same if no two processes shared a page: more than `held_bytes` means they may
    cpu_s: float  # used so far
    file_bytes: int | None = None  # the most file pages that one process has mapped, if that was looked at
    pids: Sequence[int] = ()  # whom to ask if sharing matters


class Totals(NamedTuple):
    """What the kernel kept count of over a group's whole life; None where it did not."""

    cpu_s: float | None = None
    peak_bytes: int | None = None  # everything charged: page cache and kernel memory too
    peak_held_bytes: int | None = None  # the same without what the kernel took and the most cache seen: an estimate
    memory_kills: int = 0


class Group(ABC):
    """The processes of one attempt. Made before the first of them starts, removed after the last has ended."""

    method: str  # how it is measured
    procs_files: Sequence[str] = ()  # what the first process writes itself into before it becomes the command

    @abstractmethod
    def members(self, children_of: ChildrenOf) -> list[int]:
        """Every living process of the group."""

    def is_empty(self, children_of: ChildrenOf) -> bool:
        """Whether nobody is left, the first process having ended and orphans having been collected."""
        return not self.members(children_of)

    @abstractmethod
    def sample(self, children_of: ChildrenOf) -> Sample | None:
        """What it holds now; None if nothing is left to look at."""

    @abstractmethod
    def owns(self, orphan: Process) -> bool:
        """Whether this process, whose parent has died, belongs here."""

    def set_leader(self, pid: int | None) -> None:
        """The first process has started, or (None) has ended."""

    def adopt(self, pid: int) -> None:
        """Remember an orphan that belongs here: nothing but its being our child leads to it any more."""

    def forget_orphan(self, pid: int) -> None:
        """Forget an orphan that was reaped."""

    def totals(self) -> Totals:
        """What the kernel counted. Asked for once, when no member is left."""
        return Totals()

    def memory_kills(self) -> int:
        """How many members the kernel has killed for want of memory."""
        return 0

    def remove(self) -> bool:
        """Leave nothing behind; False if that must be tried again later."""
        return True

    def terminate(self, children_of: ChildrenOf, asked: set[int]) -> None:
        """Ask every member to end that is not in `asked` yet. A stopped process could not hear that, so wake it."""
        new = [pid for pid in self.members(children_of) if pid not in asked]
        asked.update(new)
        for number in (signal.SIGTERM, signal.SIGCONT):
            _send(number, new)

    def notify(self, number: int, children_of: ChildrenOf) -> bool:
        """Send a signal to every member that has a handler for it: others, such as shells, would die of it."""
        listening = [pid for pid in self.members(children_of) if catches(pid, number)]
        _send(number, listening)
        return bool(listening)

    def kill(self, children_of: ChildrenOf) -> None:
        """End every member that can be seen, and what they have forked meanwhile. Repeat until none is left."""
        killed: set[int] = set()
        for _ in range(_KILL_ROUNDS):
            new = [
                pid for pid in self.members(children_of) if pid not in killed
            ]  # the first process first: so it dies of this
            if not new:
                return
            _send(signal.SIGKILL, new)
            killed.update(new)


def _send(number: int, pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended; or it is a setuid program's
            os.kill(pid, number)


class Groups(ABC):
    """One way of telling attempts' processes apart, as set up in this process."""

    method: str

    @abstractmethod
    def make(self, key: str, memory_bytes: int) -> Group:
        """A group for one attempt, with a limit on memory that the kernel holds if it can; 0 means no limit."""

    def close(self) -> None:
        """Undo what setting up has done."""
