"""`Group`: the processes of one attempt; `Groups`: a method of telling the processes of attempts apart."""

from __future__ import annotations

import contextlib
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headway.workers.trees.processes import ChildrenOf, Process, catches

_KILL_ROUNDS = 10  # without a pause in between, so that a fork bomb cannot outrun the killing


class Sample(NamedTuple):
    """What a group uses at one moment."""

    held_bytes: int  # anonymous and shared memory: a lower bound
    summed_bytes: int  # the upper bound: shared pages count once for each process that maps them
    cpu_s: float  # used so far
    file_bytes: int | None = None  # the largest amount of file pages mapped by one process, if known
    pids: Sequence[int] = ()  # the processes to read again if shared memory matters


class Totals(NamedTuple):
    """What the kernel counted over a group's whole life; None where it did not count."""

    cpu_s: float | None = None
    peak_bytes: int | None = None  # all memory charged, with page cache and kernel memory
    peak_held_bytes: int | None = None  # an estimate: the same without kernel memory and the most page cache seen
    memory_kills: int = 0  # processes killed by the kernel for exceeding the memory limit


class Group(ABC):
    """The processes of one attempt. Made before the first process starts, removed after the last has ended."""

    method: str  # how it is measured
    procs_files: Sequence[str] = ()  # cgroup.procs files; the first process writes its pid to each before exec

    @abstractmethod
    def members(self, children_of: ChildrenOf) -> list[int]:
        """Return every living process of the group."""

    def is_empty(self, children_of: ChildrenOf) -> bool:
        """Whether no process is left. Asked after the first process has ended and orphans were collected."""
        return not self.members(children_of)

    @abstractmethod
    def sample(self, children_of: ChildrenOf) -> Sample | None:
        """Measure the group now; None if no process is left."""

    @abstractmethod
    def owns(self, orphan: Process) -> bool:
        """Whether this process, whose parent has died, belongs to the group."""

    def set_leader(self, pid: int | None) -> None:
        """Note that the first process has started, or (None) that it has ended."""

    def adopt(self, pid: int) -> None:
        """Remember an orphan that belongs to the group: it is no longer a descendant of the first process."""

    def forget_orphan(self, pid: int) -> None:
        """Forget an orphan that was reaped."""

    def totals(self) -> Totals:
        """Return what the kernel counted. Called once, when no process is left."""
        return Totals()

    def memory_kills(self) -> int:
        """Return how many processes the kernel has killed for exceeding the memory limit."""
        return 0

    def remove(self) -> bool:
        """Remove the group; False if that must be tried again later."""
        return True

    def terminate(self, children_of: ChildrenOf, asked: set[int]) -> None:
        """Send SIGTERM to every process that is not in `asked`, and SIGCONT, without which a stopped one cannot end."""
        new = [pid for pid in self.members(children_of) if pid not in asked]
        asked.update(new)
        for number in (signal.SIGTERM, signal.SIGCONT):
            _send(number, new)

    def notify(self, number: int, children_of: ChildrenOf) -> bool:
        """Send a signal to every process that has a handler for it (others would die); False if there is none."""
        listening = [pid for pid in self.members(children_of) if catches(pid, number)]
        _send(number, listening)
        return bool(listening)

    def kill(self, children_of: ChildrenOf) -> None:
        """Kill all processes and what they fork meanwhile. The caller repeats it until none is left."""
        killed: set[int] = set()
        for _ in range(_KILL_ROUNDS):
            # `members` lists the first process first: it dies by this signal, not in reaction to a child's death.
            new = [pid for pid in self.members(children_of) if pid not in killed]
            if not new:
                return
            _send(signal.SIGKILL, new)
            killed.update(new)


def _send(number: int, pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or runs a setuid program
            os.kill(pid, number)


class Groups(ABC):
    """A method of telling the processes of attempts apart, set up in this process."""

    method: str

    @abstractmethod
    def make(self, key: str, memory_bytes: int) -> Group:
        """Make a group for one attempt, with a memory limit that the kernel enforces if it can; 0 means no limit."""

    def close(self) -> None:
        """Undo the setting up."""
