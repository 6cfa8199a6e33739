"""A group without cgroups: the descendants of the first process, and the orphans that belong to it."""

from __future__ import annotations

from headway.workers.trees.group import Group, Groups, Sample
from headway.workers.trees.processes import ChildrenOf, Process, descendants, marker_of, read_memory


class PolledGroups(Groups):
    """The method that works on every machine."""

    method = "polling"

    def make(self, key: str, memory_bytes: int) -> PolledGroup:
        """Make a group for one attempt. Its memory limit is enforced by sampling."""
        return PolledGroup(key)


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
        summed_bytes = sum(memory.held_bytes for memory in memories)
        return Sample(
            # The processes may share all their memory, so only the largest one's is certain.
            held_bytes=max(memory.held_bytes for memory in memories),
            summed_bytes=summed_bytes,
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
