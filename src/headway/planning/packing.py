"""`Packing`: what a job asks for. Jobs are measured in units: whole nodes, or places for one task each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, structs

from headway.grouping.base import Levels
from headway.grouping.list_schedule import places
from headway.model.job import JobRequest
from headway.model.records import QueueRead
from headway.model.resources import Resources
from headway.model.task import Task

_SHARED = ("cores", "memory_bytes", "gpus")  # what jobs on one node divide; disk is the file system's


class Need(Struct, frozen=True):
    """What the tasks of one category need on a node: now, and at most, if an attempt runs out of memory."""

    usual: Resources
    largest: Resources
    tasks: int


class Packing(Struct, frozen=True):
    """How many tasks share a unit, how wide a job can be, and what a job of some width asks for.

    Where nodes are not shared, a unit is a whole node. Where they are, a unit is a place: the cores of the smallest
    task, and the memory and GPUs that tasks need on average for so many cores. A task takes as many places as its
    cores need. A job asks for its places, packed on as few nodes as possible, and on each node for at least what the
    largest of its tasks needs, with memory for a second attempt.
    """

    node: Resources  # a whole node, and the site's limits
    most: int  # units in a job
    tasks_per_unit: int = 1
    place: Resources | None = None  # None: a unit is a whole node
    largest: Resources = Resources()
    places: Mapping[str, int] = {}  # by category, where it is more than one
    opening_s: float = 0.0  # a job asks for so much more time, in which its nodes come up

    def levels(self, tasks: Sequence[Task], estimate: Callable[[Task], float], most: int | None = None) -> Levels:
        """The tasks by level, on at most `most` units."""
        widest = self.most if most is None else most
        return Levels(tasks, estimate, widest, self.tasks_per_unit, self.places_of)

    def places_of(self, task: Task) -> int:
        """How many of the places for tasks side by side a task takes."""
        return places(task, self.tasks_per_unit) if self.place is None else self.places.get(task.category, 1)

    def in_units(self, queue: QueueRead) -> QueueRead:
        """The queue's plan with units instead of cores; as it is where the queue counts nodes."""
        if queue.counts == "nodes":
            return queue
        each = self.cores_per_unit
        free = [float(math.floor(cores / each + 1e-9)) for cores in queue.free]
        return structs.replace(queue, free=free, counts="nodes")

    @property
    def cores_per_unit(self) -> float:
        """The cores of a unit; the memory or GPUs of a unit may take more of a node than its cores do."""
        if self.place is None:
            return self.node.cores
        shares = [amount / has for name in _SHARED if (has := self.node[name]) and (amount := self.place[name])]
        return max(shares) * self.node.cores

    def units_of(self, request: JobRequest) -> float:
        """The size of any job in these units."""
        asked = request.per_node
        return asked.nodes if self.place is None else asked.nodes * asked.cores / self.place.cores

    def work_s(self, tasks: Sequence[Task], estimate: Callable[[Task], float], units: Packing) -> float:
        """The unit-seconds that tasks need, in the units of another packing."""
        if self.place is not None and units.place is not None:
            return sum(estimate(task) * self.places_of(task) for task in tasks) * self.place.cores / units.place.cores
        narrow = sorted((estimate(task) for task in tasks if task.nodes == 1), reverse=True)
        spanning_s = sum(estimate(task) * task.nodes for task in tasks if task.nodes > 1)
        return sum(narrow[:: self.tasks_per_unit]) + spanning_s

    def request(self, units: int, walltime_s: float) -> JobRequest:
        """A request for so many units, cut to the site's limits."""
        most_s = self.node.walltime_s
        asked_s = min(walltime_s + self.opening_s, math.inf if most_s is None else most_s)
        if self.place is None:
            return JobRequest(self.node.replace(nodes=min(units, self.node.nodes), walltime_s=asked_s))
        units = min(units, self.most)
        nodes = -(-units // max(1, self.node.room_for(self.place)))
        on_each = -(-units // nodes)
        amounts = {
            name: min(self.node[name] or 0, max(on_each * (self.place[name] or 0), self.largest[name] or 0))
            for name in _SHARED
        }
        amounts["gpus"] = math.ceil(amounts["gpus"] - 1e-9)  # a job has whole GPUs, also for tasks that share one
        return JobRequest(self.node.replace(**amounts, nodes=nodes, walltime_s=asked_s), places=nodes * on_each)


def largest_of(needs: Iterable[Need]) -> Resources:
    """The most that any of the tasks needs of each resource."""
    largest = Resources()
    for need in needs:
        largest = largest.covering(need.largest)
    return largest


def shares(node: Resources, queue: QueueRead | None, needs: Mapping[str, Need]) -> Packing:
    """Units are places for tasks with these needs, by category."""
    cores = min(need.usual.cores for need in needs.values()) or 1
    taken = {category: max(1, math.ceil(need.usual.cores / cores - 1e-9)) for category, need in needs.items()}
    bytes_in_all = sum(need.tasks * need.usual.memory_bytes for need in needs.values())
    places_in_all = sum(need.tasks * taken[category] for category, need in needs.items())
    gpus = sum(need.tasks * need.usual.gpus for need in needs.values()) / places_in_all
    place = Resources(cores=cores, memory_bytes=math.ceil(bytes_in_all / places_in_all), gpus=gpus)
    largest = largest_of(needs.values())
    several = {category: number for category, number in taken.items() if number > 1}
    most = node.nodes * max(1, node.room_for(place))
    packing = Packing(node, most, 1, place, largest, several)
    if queue is None:
        return packing
    there = int(max(packing.in_units(queue).free))
    return structs.replace(packing, most=max(1, min(most, there), *taken.values()))
