"""A batch-scheduled cluster in virtual time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from headway.clusters.base import Cluster
from headway.kernels.batch.queue import BatchQueue
from headway.model.job import Asks, JobPhase, JobRequest
from headway.model.records import QueueRead
from headway.model.resources import Resources

_PHASES = {
    "pending": JobPhase.PENDING,
    "running": JobPhase.RUNNING,
    "ended": JobPhase.ENDED,
    "withdrawn": JobPhase.ENDED,
}
_FOR_EVER = 1e15  # seconds: requested by a job without a limit
PLENTY_BYTES = 1 << 50  # of memory or disk, where nothing says how much a node has; then only cores count


class SimulatedCluster(Cluster):
    """One user's view of a simulated batch queue, whose other jobs come from a log.

    Several views may share a queue. The driver advances its time with `queue.advance`. The queue counts nodes, or cores
    if `asks` says what jobs ask for; which nodes have the free cores is not counted.
    """

    name = "simulated"
    queues = True

    def __init__(self, queue: BatchQueue, node: Resources, owner: int = 0, asks: Asks | None = None) -> None:
        self.queue = queue
        self.node = node  # what a node has
        self._asks = asks
        self._owner = owner
        self._jobs: dict[str, int] = {}  # by tag

    def limits(self) -> Resources:
        machine = self.queue.machine
        return self.node.replace(nodes=machine if self._asks is None else machine // int(self.node.cores))

    @property
    def shares(self) -> bool:
        return self._asks == "shared"

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        if tag not in self._jobs:
            asked = request.per_node
            walltime_s = asked.walltime_s if asked.walltime_s is not None else _FOR_EVER
            parent = None if after is None else self._jobs[after]
            self._jobs[tag] = self.queue.submit(self._units(asked), walltime_s, after=parent, owner=self._owner)

    def _units(self, asked: Resources) -> int:
        """What a request takes of the queue's nodes or cores; memory counts as cores, by its share of a node."""
        if self._asks is None:
            return asked.nodes
        node = self.node
        by_memory = asked.memory_bytes / node.memory_bytes * node.cores if node.memory_bytes < PLENTY_BYTES else 0.0
        return asked.nodes * min(int(node.cores), math.ceil(max(asked.cores, by_memory) - 1e-9))

    @property
    def admits(self) -> bool:
        return True

    def admit(self, tag: str) -> None:
        self.queue.admit(self._jobs[tag])

    @property
    def shrinks(self) -> bool:
        return True

    def shrink(self, tag: str, nodes: Collection[str], left: JobRequest) -> str:
        self.queue.shrink(self._jobs[tag], self._units(left.per_node))
        return ""

    def find(self, tags: Iterable[str]) -> set[str]:
        return {tag for tag, phase in self.poll(tags).items() if phase in (JobPhase.PENDING, JobPhase.RUNNING)}

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return {tag: self._phase(tag) for tag in tags}

    def _phase(self, tag: str) -> JobPhase:
        return _PHASES[self.queue.job(self._jobs[tag]).state] if tag in self._jobs else JobPhase.UNKNOWN

    def cancel(self, tags: Iterable[str]) -> None:
        for tag in tags:
            if tag in self._jobs:
                self.queue.withdraw(self._jobs[tag])

    def snapshot(self) -> QueueRead:
        """The scheduler's own plan."""
        times, free, nodes = self.queue.plan_with_nodes()
        rules = self.queue.scheduling
        return QueueRead(
            self.queue.now,
            times,
            free,
            nodes,
            rules.nodes == "contiguous",
            rules.dependency == "reserved",
            "nodes" if self._asks is None else "cores",
        )

    def tags_of(self, jobs: Iterable[int]) -> list[str]:
        """The tags of those of the queue's jobs that belong to this user."""
        wanted = set(jobs)
        return [tag for tag, job in self._jobs.items() if job in wanted]
