"""Which ready task goes on which node now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct

from headway.engine.queue import Lane, Walk
from headway.engine.state import NodeState
from headway.model.resources import Resources
from headway.sizing.base import Allocation, CannotFit

# Tasks in one lane are mostly given the same, and then one that finds no room speaks for all. Where amounts differ, by
# the size of inputs or by drawing, so many are tried.
MOST_TRIED = 8
# A task that finds no room is passed by smaller ones at most this often; then the nodes drain until it fits.
MOST_OVERTAKINGS = 32


class Placement(Struct, frozen=True):
    """A task, its allocation, its node, and the first task in line that it went past, if any."""

    task: str
    allocation: Allocation
    node: NodeState
    overtook: str | None


class Unplaceable(Struct, frozen=True):
    """A task for which no node here is large enough."""

    task: str
    verdict: CannotFit


class Placer:
    """First fit in the order's order; of the nodes with room, the one that is left with the least memory.

    The same code places tasks in simulation and for real.
    """

    def place(
        self,
        ready: Walk,
        allocate: Callable[[str], Allocation | CannotFit],
        nodes: Iterable[NodeState],
        overtaken: Mapping[str, int],
    ) -> list[Placement | Unplaceable]:
        """Placements for as many ready tasks as have room; `overtaken` counts how often a task was passed by."""
        room = {node.name: node.free for node in nodes}
        by_name = {node.name: node for node in nodes}
        placed: list[Placement | Unplaceable] = []
        first_blocked: str | None = None
        passed = 0
        refused: dict[Lane, list[Resources]] = {}
        for lane, task_id in ready:
            if first_blocked and overtaken.get(first_blocked, 0) + passed >= MOST_OVERTAKINGS:
                break
            if not _any_room(room):
                break
            allocation = allocate(task_id)
            if isinstance(allocation, CannotFit):
                placed.append(Unplaceable(task_id, allocation))
                continue
            candidates = [name for name, free in room.items() if allocation.resources.fits_in(free)]
            if not candidates:
                first_blocked = first_blocked or task_id
                tried = refused.setdefault(lane, [])
                if allocation.resources in tried or len(tried) + 1 >= MOST_TRIED:
                    ready.skip(lane)
                tried.append(allocation.resources)
                continue
            name = min(candidates, key=lambda name: room[name].memory_bytes)
            room[name] -= allocation.resources
            passed += first_blocked is not None
            placed.append(Placement(task_id, allocation, by_name[name], first_blocked))
        return placed

    def place_bound(
        self,
        nodes: Iterable[NodeState],
        wanting: Collection[str],
        allocate: Callable[[str], Allocation | CannotFit],
    ) -> list[Placement | Unplaceable]:
        """Placements on nodes of jobs that were asked for on behalf of certain tasks, in the order of these."""
        placed: list[Placement | Unplaceable] = []
        taken: set[str] = set()
        for node in nodes:
            room = node.free
            for task_id in node.only:
                if room.cores <= 0:
                    break
                if task_id not in wanting or task_id in taken:
                    continue
                allocation = allocate(task_id)
                if isinstance(allocation, CannotFit):
                    placed.append(Unplaceable(task_id, allocation))
                elif allocation.resources.fits_in(room):
                    room -= allocation.resources
                    placed.append(Placement(task_id, allocation, node, None))
                else:
                    continue
                taken.add(task_id)
        return placed


def _any_room(room: Mapping[str, Resources]) -> bool:
    return any(free.cores > 0 and free.memory_bytes > 0 for free in room.values())
