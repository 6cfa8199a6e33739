"""The processes of a container whose runtime starts them outside the tree of the command that asked for it."""

from __future__ import annotations

from headway.workers.trees.group import PolledGroup
from headway.workers.trees.processes import ChildrenOf, Process, all_pids, descendants, marker_of, read_process


class ContainerGroup(PolledGroup):
    """The processes of the command, as without cgroups, and those of its container.

    Docker's daemon and Podman's monitor start a container's processes in control groups of their own. The first process
    of the container is found by the attempt's key in its environment; all others descend from it.
    """

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._first: dict[int, int] = {}  # start ticks of the container's first processes by pid

    def is_empty(self, children_of: ChildrenOf) -> bool:
        return super().is_empty(children_of) and not self._inside(set())

    def _processes(self, children_of: ChildrenOf) -> list[Process]:
        outside = super()._processes(children_of)
        inside = descendants(self._inside({process.pid for process in outside}), children_of)
        processes = list({process.pid: process for process in (*outside, *inside)}.values())
        self._seen = {(process.pid, process.start_ticks) for process in processes}
        return processes

    def _inside(self, outside: set[int]) -> list[int]:
        """Return the container's first processes. All processes are searched only while none of them is known."""
        alive = [pid for pid, ticks in self._first.items() if _is_alive(pid, ticks)]
        if not alive:
            marked = (pid for pid in all_pids() if pid not in outside and marker_of(pid) == self._key)
            found = (process for pid in marked if (process := read_process(pid)) and not process.dead)
            self._first = {process.pid: process.start_ticks for process in found}
            alive = list(self._first)
        return alive


def _is_alive(pid: int, start_ticks: int) -> bool:
    process = read_process(pid)
    return process is not None and not process.dead and process.start_ticks == start_ticks
