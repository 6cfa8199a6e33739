"""A group without cgroups: the descendants of the first process, and the orphans that were traced back to it."""

from __future__ import annotations

from headway.workers.trees.group import Group, Groups, Sample
from headway.workers.trees.processes import ChildrenOf, Process, descendants, marker_of, read_memory


class PolledGroups(Groups):
    """The way that works everywhere."""

    method = "polling"

    def make(self, key: str, memory_bytes: int) -> PolledGroup:
        """A group for one attempt; its limit is held by looking."""
        return PolledGroup(key)


class PolledGroup(Group):
    """Needs no privileges at all, only that this process is a child subreaper and reaps its orphans.

    A process that leaves its parent (a daemon) is known by having been seen here before, by its session (every
    attempt's first process opens one), or by its environment.
    """

    method = "polling"

    def __init__(self, key: str) -> None:
        self._key = key
        self._leader: int | None = None
        self._session: int | None = None
        self._orphans: set[int] = set()  # our children: until we reap one, its pid cannot come round again
        self._seen: set[tuple[int, int]] = set()  # (pid, start_ticks) at the last look

    def set_leader(self, pid: int | None) -> None:
        """The first process opened a session of its own, whose number is its pid."""
        self._leader = pid
        self._session = self._session or pid

    def members(self, children_of: ChildrenOf) -> list[int]:
        """Every living process of the group."""
        return [process.pid for process in self._processes(children_of)]

    def is_empty(self, children_of: ChildrenOf) -> bool:
        """Every member left has an ancestor, or is itself one, whose parent died: an orphan, and those are known.

        One that ended since it was adopted counts until it is reaped: it may have left children to us.
        """
        return not self._orphans

    def sample(self, children_of: ChildrenOf) -> Sample | None:
        """One read of `stat` and one of `status` per process."""
        processes = self._processes(children_of)
        memories = [memory for process in processes if (memory := read_memory(process.pid))]
        if not memories:
            return None
        summed_bytes = sum(memory.held_bytes for memory in memories)
        return Sample(
            # Several processes may share all they hold; no less than what the largest of them holds is held.
            held_bytes=max(memory.held_bytes for memory in memories),
            summed_bytes=summed_bytes,
            cpu_s=sum(process.cpu_s for process in processes),
            file_bytes=max(memory.file_bytes for memory in memories),
            pids=[process.pid for process in processes],
        )

    def owns(self, orphan: Process) -> bool:
        """By having been adopted or seen, by its session, by its environment: the cheapest first."""
        return (
            orphan.pid in self._orphans
            or (orphan.pid, orphan.start_ticks) in self._seen
            or orphan.session == self._session
            or (not orphan.dead and marker_of(orphan.pid) == self._key)
        )

    def adopt(self, pid: int) -> None:
        """From now on it is a root of this group, as the first process is."""
        self._orphans.add(pid)

    def forget_orphan(self, pid: int) -> None:
        """Its pid may be somebody else's now."""
        self._orphans.discard(pid)

    def _processes(self, children_of: ChildrenOf) -> list[Process]:
        roots = self._orphans if self._leader is None else self._orphans | {self._leader}
        processes = descendants(roots, children_of)
        self._seen = {(process.pid, process.start_ticks) for process in processes}
        return processes
