"""`Group`: the processes of one attempt; `Groups`: a method of telling the processes of attempts apart.

`PolledGroup` works without cgroups: the descendants of the first process, and the orphans that belong to it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headway.workers.trees.processes import ChildrenOf, Process, catches, descendants, marker_of, read_memory

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

    def send(self, number: int, children_of: ChildrenOf) -> bool:
        """Send a signal to every process, as a terminal does; False if there is none."""
        members = self.members(children_of)
        _send(number, members)
        return bool(members)

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


class PolledGroup(Group):
    """Needs no privileges; this process must be a child subreaper and reap its orphans.

    A daemon, whose parent has ended, is recognised by an earlier sample, by its session (each attempt's first process
    opens one), or by its environment.
    """

    method = "polling"

    def __init__(self, key: str) -> None:
        self._key = key
        self._leader: int | None = None
        self._session: int | None = None
        self._orphans: set[int] = set()  # our children: a pid cannot be reused before we reap it
        self._seen: set[tuple[int, int]] = set()  # (pid, start_ticks) in the last sample

    def set_leader(self, pid: int | None) -> None:
        """Remember the first process, which has opened a session with its pid as number."""
        self._leader = pid
        self._session = self._session or pid

    def members(self, children_of: ChildrenOf) -> list[int]:
        return [process.pid for process in self._processes(children_of)]

    def is_empty(self, children_of: ChildrenOf) -> bool:
        """Whether no orphan is left: without the first process, every other process descends from an orphan.

        An orphan that has ended counts until it is reaped, since its children become orphans.
        """
        return not self._orphans

    def sample(self, children_of: ChildrenOf) -> Sample | None:
        """Measure the group by reading `stat` and `status` of each process."""
        processes = self._processes(children_of)
        memories = [memory for process in processes if (memory := read_memory(process.pid))]
        if not memories:
            return None
        return Sample(
            # The processes may share all their memory, so only the largest one's is certain.
            held_bytes=max(memory.held_bytes for memory in memories),
            summed_bytes=sum(memory.held_bytes for memory in memories),
            cpu_s=sum(process.cpu_s for process in processes),
            file_bytes=max(memory.file_bytes for memory in memories),
            pids=[process.pid for process in processes],
        )

    def owns(self, orphan: Process) -> bool:
        """Whether the process was adopted or sampled before, or has the group's session or key; cheapest test first."""
        return (
            orphan.pid in self._orphans
            or (orphan.pid, orphan.start_ticks) in self._seen
            or orphan.session == self._session
            or (not orphan.dead and marker_of(orphan.pid) == self._key)
        )

    def adopt(self, pid: int) -> None:
        """Treat the process as a root of this group, like the first process."""
        self._orphans.add(pid)

    def forget_orphan(self, pid: int) -> None:
        self._orphans.discard(pid)

    def _processes(self, children_of: ChildrenOf) -> list[Process]:
        roots = self._orphans if self._leader is None else self._orphans | {self._leader}
        processes = descendants(roots, children_of)
        self._seen = {(process.pid, process.start_ticks) for process in processes}
        return processes


class PolledGroups(Groups):
    """The method that works on every machine."""

    method = "polling"

    def make(self, key: str, memory_bytes: int) -> PolledGroup:
        """Make a group for one attempt. Its memory limit is enforced by sampling."""
        return PolledGroup(key)
