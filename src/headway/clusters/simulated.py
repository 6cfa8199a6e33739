"""A batch-scheduled cluster in virtual time."""

from __future__ import annotations

from collections.abc import Iterable

from headway.clusters.base import Cluster
from headway.kernels.batch.queue import BatchQueue
from headway.model.job import JobPhase, JobRequest
from headway.model.records import QueueRead
from headway.model.resources import Resources

_PHASES = {
    "pending": JobPhase.PENDING,
    "running": JobPhase.RUNNING,
    "ended": JobPhase.ENDED,
    "withdrawn": JobPhase.ENDED,
}
_FOR_EVER = 1e15  # seconds: requested by a job without a limit


class SimulatedCluster(Cluster):
    """One user's view of a simulated batch queue, whose other jobs come from a log.

    Several views may share a queue. The driver advances its time with `queue.advance`.
    """

    name = "simulated"
    queues = True

    def __init__(self, queue: BatchQueue, node: Resources, owner: int = 0) -> None:
        self.queue = queue
        self.node = node  # what a node has
        self._owner = owner
        self._jobs: dict[str, int] = {}  # by tag

    def limits(self) -> Resources:
        return self.node.replace(nodes=self.queue.machine)

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        if tag not in self._jobs:
            asked = request.per_node
            walltime_s = asked.walltime_s if asked.walltime_s is not None else _FOR_EVER
            parent = None if after is None else self._jobs[after]
            self._jobs[tag] = self.queue.submit(asked.nodes, walltime_s, after=parent, owner=self._owner)

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
            self.queue.now, times, free, nodes, rules.nodes == "contiguous", rules.dependency == "reserved"
        )

    def tags_of(self, jobs: Iterable[int]) -> list[str]:
        """The tags of those of the queue's jobs that belong to this user."""
        wanted = set(jobs)
        return [tag for tag, job in self._jobs.items() if job in wanted]
