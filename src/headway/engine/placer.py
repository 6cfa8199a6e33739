"""Which ready task goes on which node now."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

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
    """First fit in the order's order; of the nodes with room, the one that goes first, then that with the least memory.

    The same code places tasks in simulation and for real.
    """

    def place(
        self,
        ready: Walk,
        allocate: Callable[[str], Allocation | CannotFit],
        nodes: Iterable[NodeState],
        overtaken: Mapping[str, int],
        ends_by: Callable[[str], float] = lambda task: -math.inf,
    ) -> list[Placement | Unplaceable]:
        """Placements for as many ready tasks as have room; `overtaken` counts how often a task was passed by.

        No task is begun on a node whose allocation ends before the task is thought to (`ends_by`).
        """
        by_name = {node.name: node for node in nodes}
        room = {node.name: node.free for node in nodes if _has_room(node.free)}
        latest = max((node.until for node in by_name.values()), default=math.inf)
        placed: list[Placement | Unplaceable] = []
        blocked: str | None = None  # the first in line that found no room on a node which lasts long enough for it
        blocked_end = math.inf
        passed = 0
        refused: dict[Lane, list[Resources]] = {}
        for lane, task_id in ready:
            if blocked and overtaken.get(blocked, 0) + passed >= MOST_OVERTAKINGS:  # the nodes it could use drain
                room = {name: free for name, free in room.items() if by_name[name].until < blocked_end}
            if not room:
                break
            end = ends_by(task_id)
            if end > latest:  # it waits for a job that lasts longer, and holds nobody up
                continue
            allocation = allocate(task_id)
            if isinstance(allocation, CannotFit):
                placed.append(Unplaceable(task_id, allocation))
                continue
            candidates = [
                name for name, free in room.items() if end <= by_name[name].until and allocation.resources.fits_in(free)
            ]
            if not candidates:
                if blocked is None:
                    blocked, blocked_end = task_id, end
                tried = refused.setdefault(lane, [])
                if allocation.resources in tried or len(tried) + 1 >= MOST_TRIED:
                    ready.skip(lane)
                tried.append(allocation.resources)
                continue
            name = min(candidates, key=lambda name: (by_name[name].until, room[name].memory_bytes))
            _take(room, name, allocation.resources)
            overtakes = blocked is not None and by_name[name].until >= blocked_end
            passed += overtakes
            placed.append(Placement(task_id, allocation, by_name[name], blocked if overtakes else None))
        return placed

    def place_bound(
        self,
        nodes: Sequence[NodeState],
        wanting: Collection[str],
        allocate: Callable[[str], Allocation | CannotFit],
    ) -> list[Placement | Unplaceable]:
        """Placements on the nodes of a job that was asked for on behalf of certain tasks, in the order of these."""
        only = nodes[0].only
        by_name = {node.name: node for node in nodes}
        room = {node.name: node.free for node in nodes if _has_room(node.free)}
        placed: list[Placement | Unplaceable] = []
        for task_id in sorted((task_id for task_id in wanting if task_id in only), key=only.__getitem__):
            if not room:
                break
            allocation = allocate(task_id)
            if isinstance(allocation, CannotFit):
                placed.append(Unplaceable(task_id, allocation))
                continue
            name = next((name for name, free in room.items() if allocation.resources.fits_in(free)), None)
            if name is not None:
                _take(room, name, allocation.resources)
                placed.append(Placement(task_id, allocation, by_name[name], None))
        return placed


def _has_room(free: Resources) -> bool:
    return free.cores > 0 and free.memory_bytes > 0


def _take(room: dict[str, Resources], name: str, resources: Resources) -> None:
    room[name] -= resources
    if not _has_room(room[name]):
        del room[name]
