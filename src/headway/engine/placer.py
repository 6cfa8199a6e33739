"""Which ready task starts on which node: first fit, in the sequence of the order.

A task gets the node with room whose job ends first, then the one with the least free memory. A task that spans nodes
gets them from one job. A task with GPUs gets certain devices of its node, where these are known: the smallest that are
large enough for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from headway.engine.queue import Lane, SharedWalk, Walk
from headway.engine.state import NodeState
from headway.model import devices
from headway.model.devices import GpuNeed
from headway.model.resources import Resources
from headway.ordering.fair import Turn
from headway.sizing.base import Allocation, CannotFit

# Tasks in one lane mostly get the same allocation, and then one that finds no room speaks for all. Where allocations
# differ, by input size or random draw, this many tasks of a lane are tried.
MOST_TRIED = 8
# A task that is only too long for the free nodes, whose jobs end too soon, does not speak for shorter ones of its lane.
MOST_TOO_LONG = 256
# Smaller tasks overtake a task that finds no room at most this often; then its nodes drain until it fits.
MOST_OVERTAKINGS = 32


class Placement(Struct, frozen=True):
    """A task, its allocation, its node or nodes, and the first task in the queue that it overtook, if any."""

    task: str
    allocation: Allocation
    nodes: tuple[NodeState, ...]
    overtook: str | None
    devices: tuple[str, ...] = ()  # ids of the GPUs that it gets


class Unplaceable(Struct, frozen=True):
    """A task for which no node here is large enough."""

    task: str
    verdict: CannotFit


def place(
    ready: Walk | SharedWalk,
    allocate: Callable[[str], Allocation | CannotFit],
    nodes: Iterable[NodeState],
    overtaken: Mapping[str, int],
    ends_by: Callable[[str], float],
    turn: Turn | None = None,
    gpu_need: Callable[[str], GpuNeed] = lambda task_id: GpuNeed(),
) -> list[Placement | Unplaceable]:
    """Place as many ready tasks as have room; `overtaken` counts how often a task was overtaken before.

    No task starts on a node whose allocation ends before the task's expected end (`ends_by`), and none beyond what its
    share may hold (`turn`). `gpu_need` tells which GPUs are large enough for a task.
    """
    by_name = {node.name: node for node in nodes}
    room = {node.name: node.free for node in nodes if _has_room(node.free)}
    free_devices = _Devices(by_name)
    widths = Counter((node.until, node.tag) for node in by_name.values())  # nodes of each job
    latest = max((until for until, _ in widths), default=math.inf)
    placed: list[Placement | Unplaceable] = []
    blocked: str | None = None  # the first task that found no room on nodes that last long enough for it
    blocked_end = math.inf
    passed = 0
    refused = _Refused()
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
        if turn is not None and not turn.admits(lane[3], allocation.resources, end):
            ready.skip(lane)  # it waits for its own share, and blocks no other task
            continue
        span = allocation.resources.nodes
        if span > 1 and not any(span <= width and end <= until for (until, _), width in widths.items()):
            continue  # it waits for a wider job
        each, need = _on_each(allocation), gpu_need(task_id)
        fitting = [
            by_name[name]
            for name, free in room.items()
            if end <= by_name[name].until and each.fits_in(free) and free_devices.has(name, each, need)
        ]
        rank = partial(free_devices.rank, each=each, need=need)
        chosen = _of_one_job(fitting, span) if span > 1 else _first(task_id, fitting, room, rank)
        if not chosen:
            if blocked is None:
                blocked, blocked_end = task_id, end
            only_too_long = span == 1 and any(
                each.fits_in(free) and free_devices.has(name, each, need) for name, free in room.items()
            )
            if refused.speaks_for_all(lane, allocation.resources, only_too_long):
                ready.skip(lane)
            continue
        for node in chosen:
            _take(room, node.name, each)
        if turn is not None:
            turn.take(lane[3], allocation.resources, end)
        overtakes = blocked is not None and chosen[0].until >= blocked_end
        passed += overtakes
        taken = free_devices.take([node.name for node in chosen], each, need)
        placed.append(Placement(task_id, allocation, tuple(chosen), blocked if overtakes else None, taken))
    return placed


def place_bound(
    nodes: Sequence[NodeState],
    wanting: Collection[str],
    allocate: Callable[[str], Allocation | CannotFit],
    share_of: Callable[[str], str] = lambda task_id: "",
    turn: Turn | None = None,
    gpu_need: Callable[[str], GpuNeed] = lambda task_id: GpuNeed(),
    stays_to: Callable[[str], float] = lambda task_id: -math.inf,
) -> list[Placement | Unplaceable]:
    """Place tasks on the nodes of a job that was submitted for certain tasks, in the sequence of these.

    Shares take no turns in it, but none gets more than it may hold. No task starts if the job ends before `stays_to`.
    """
    only = nodes[0].only
    by_name = {node.name: node for node in nodes}
    room = {node.name: node.free for node in nodes if _has_room(node.free)}
    free_devices = _Devices(by_name)
    placed: list[Placement | Unplaceable] = []
    for task_id in sorted((task_id for task_id in wanting if task_id in only), key=only.__getitem__):
        if not room:
            break
        if stays_to(task_id) > nodes[0].until:
            continue
        allocation = allocate(task_id)
        if isinstance(allocation, CannotFit):
            placed.append(Unplaceable(task_id, allocation))
            continue
        if turn is not None and not turn.admits(share_of(task_id), allocation.resources):
            continue
        span, each, need = allocation.resources.nodes, _on_each(allocation), gpu_need(task_id)
        having = (name for name, free in room.items() if each.fits_in(free) and free_devices.has(name, each, need))
        names = list(islice(having, span))
        if len(names) == span:
            for name in names:
                _take(room, name, each)
            if turn is not None:
                turn.take(share_of(task_id), allocation.resources)
            taken = free_devices.take(names, each, need)
            placed.append(Placement(task_id, allocation, tuple(by_name[name] for name in names), None, taken))
    return placed


class _Devices:
    """What is free of each GPU of the nodes on which GPUs are known by id, in one look at the queue."""

    def __init__(self, nodes: Mapping[str, NodeState]) -> None:
        self._nodes = nodes
        self._free = {name: node.free_devices for name, node in nodes.items() if node.free_devices}

    def has(self, node: str, each: Resources, need: GpuNeed) -> bool:
        """Whether a node's devices suffice: their free parts may add up to enough, and none of them be whole."""
        return not each.gpus or node not in self._free or self._choose(node, each, need) is not None

    def rank(self, node: str, each: Resources, need: GpuNeed) -> int:
        """The lowest is best: the node with the best device for a task that fits there."""
        chosen = self._choose(node, each, need) if each.gpus and node in self._free else None
        return min((need.rank(self._nodes[node].devices[name]) for name in chosen), default=0) if chosen else 0

    def _choose(self, node: str, each: Resources, need: GpuNeed) -> tuple[str, ...] | None:
        return devices.choose(devices.suitable(self._free[node], self._nodes[node].devices, need), each.gpus)

    def take(self, nodes: Sequence[str], each: Resources, need: GpuNeed) -> tuple[str, ...]:
        """Choose the devices of a task; one that spans nodes has all that its job has on them, and none are named."""
        free = self._free.get(nodes[0])
        if not each.gpus or free is None or len(nodes) > 1:
            return ()
        chosen = self._choose(nodes[0], each, need) or ()
        self._free[nodes[0]] = devices.held(free, chosen, each.gpus)
        return chosen


class _Refused:
    """The tasks of each lane that found no room, in one look at the queue."""

    def __init__(self) -> None:
        self._sizes: dict[Lane, list[Resources]] = {}
        self._too_long: Counter[Lane] = Counter()

    def speaks_for_all(self, lane: Lane, resources: Resources, only_too_long: bool) -> bool:
        """Take note of one more, and say whether the rest of its lane need not be tried."""
        if only_too_long and self._too_long[lane] < MOST_TOO_LONG:
            self._too_long[lane] += 1
            return False
        sizes = self._sizes.setdefault(lane, [])
        known = resources in sizes
        sizes.append(resources)
        return known or len(sizes) >= MOST_TRIED


def _on_each(allocation: Allocation) -> Resources:
    resources = allocation.resources
    return resources if resources.nodes == 1 else resources.replace(nodes=1)


def _first(
    task_id: str, fitting: Sequence[NodeState], room: Mapping[str, Resources], rank: Callable[[str], int]
) -> list[NodeState]:
    """The node with the best GPUs for a task, then the one whose job ends first, then that with least free memory.

    Nodes that are meant for certain tasks come after all others, so that their jobs can be given back; those that are
    meant for other tasks come last.
    """

    def key(node: NodeState) -> tuple[float, ...]:
        meant = 0 if not node.meant_for else 1 if task_id in node.meant_for else 2
        return meant, rank(node.name), node.until, room[node.name].memory_bytes

    best = min(fitting, key=key, default=None)
    return [best] if best else []


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
