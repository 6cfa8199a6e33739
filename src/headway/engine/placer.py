"""Which ready task starts on which node: first fit, in the sequence of the order.

A task gets the node with room whose job ends first, then the one with the least free memory. A task that spans nodes
gets them from one job.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from headway.engine.queue import Lane, Walk
from headway.engine.state import NodeState
from headway.model.resources import Resources
from headway.sizing.base import Allocation, CannotFit

# Tasks in one lane mostly get the same allocation, and then one that finds no room speaks for all. Where allocations
# differ, by input size or random draw, this many tasks of a lane are tried.
MOST_TRIED = 8
# Smaller tasks overtake a task that finds no room at most this often; then its nodes drain until it fits.
MOST_OVERTAKINGS = 32


class Placement(Struct, frozen=True):
    """A task, its allocation, its node or nodes, and the first task in the queue that it overtook, if any."""

    task: str
    allocation: Allocation
    nodes: tuple[NodeState, ...]
    overtook: str | None


class Unplaceable(Struct, frozen=True):
    """A task for which no node here is large enough."""

    task: str
    verdict: CannotFit


def place(
    ready: Walk,
    allocate: Callable[[str], Allocation | CannotFit],
    nodes: Iterable[NodeState],
    overtaken: Mapping[str, int],
    ends_by: Callable[[str], float],
) -> list[Placement | Unplaceable]:
    """Place as many ready tasks as have room; `overtaken` counts how often a task was overtaken before.

    No task starts on a node whose allocation ends before the task's expected end (`ends_by`).
    """
    by_name = {node.name: node for node in nodes}
    room = {node.name: node.free for node in nodes if _has_room(node.free)}
    widths = Counter((node.until, node.tag) for node in by_name.values())  # nodes of each job
    latest = max((until for until, _ in widths), default=math.inf)
    placed: list[Placement | Unplaceable] = []
    blocked: str | None = None  # the first task that found no room on nodes that last long enough for it
    blocked_end = math.inf
    passed = 0
    refused: dict[Lane, list[Resources]] = {}
    for lane, task_id in ready:
        if blocked and overtaken.get(blocked, 0) + passed >= MOST_OVERTAKINGS:  # the nodes that it could use drain
            room = {name: free for name, free in room.items() if by_name[name].until < blocked_end}
        if not room:
            break
        end = ends_by(task_id)
        if end > latest:  # it waits for a job that lasts longer, and blocks no other task
            continue
        allocation = allocate(task_id)
        if isinstance(allocation, CannotFit):
            placed.append(Unplaceable(task_id, allocation))
            continue
        span = allocation.resources.nodes
        if span > 1 and not any(span <= width and end <= until for (until, _), width in widths.items()):
            continue  # it waits for a wider job
        each = _on_each(allocation)
        fitting = [by_name[name] for name, free in room.items() if end <= by_name[name].until and each.fits_in(free)]
        chosen = _of_one_job(fitting, span) if span > 1 else _first(fitting, room)
        if not chosen:
            if blocked is None:
                blocked, blocked_end = task_id, end
            tried = refused.setdefault(lane, [])
            if allocation.resources in tried or len(tried) + 1 >= MOST_TRIED:
                ready.skip(lane)
            tried.append(allocation.resources)
            continue
        for node in chosen:
            _take(room, node.name, each)
        overtakes = blocked is not None and chosen[0].until >= blocked_end
        passed += overtakes
        placed.append(Placement(task_id, allocation, tuple(chosen), blocked if overtakes else None))
    return placed


def place_bound(
    nodes: Sequence[NodeState],
    wanting: Collection[str],
    allocate: Callable[[str], Allocation | CannotFit],
) -> list[Placement | Unplaceable]:
    """Place tasks on the nodes of a job that was submitted for certain tasks, in the sequence of these."""
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
        span, each = allocation.resources.nodes, _on_each(allocation)
        names = list(islice((name for name, free in room.items() if each.fits_in(free)), span))
        if len(names) == span:
            for name in names:
                _take(room, name, each)
            placed.append(Placement(task_id, allocation, tuple(by_name[name] for name in names), None))
    return placed


def _on_each(allocation: Allocation) -> Resources:
    resources = allocation.resources
    return resources if resources.nodes == 1 else resources.replace(nodes=1)


def _first(fitting: Sequence[NodeState], room: Mapping[str, Resources]) -> list[NodeState]:
    """The node whose job ends first, then the one with the least free memory."""
    return [min(fitting, key=lambda node: (node.until, room[node.name].memory_bytes))] if fitting else []


def _of_one_job(fitting: Sequence[NodeState], span: int) -> list[NodeState]:
    """`span` nodes of one job: of the jobs that have them, the one that ends first."""
    by_job: dict[str, list[NodeState]] = {}
    for node in fitting:
        by_job.setdefault(node.tag, []).append(node)
    wide = [nodes for nodes in by_job.values() if len(nodes) >= span]
    return min(wide, key=lambda nodes: nodes[0].until)[:span] if wide else []


def _has_room(free: Resources) -> bool:
    return free.cores > 0 and free.memory_bytes > 0


def _take(room: dict[str, Resources], name: str, resources: Resources) -> None:
    room[name] -= resources
    if not _has_room(room[name]):
        del room[name]
