"""`PoolRoom`: what a pool has, what it has asked for, and how much its workflows may hand to it at a time."""

from __future__ import annotations

from collections.abc import Iterable

from headway.model import records
from headway.model.job import JobPhase
from headway.model.resources import Resources


class PoolRoom:
    """Follows the records of the pool's run.

    A workflow may hand over what fits into all that is held and asked for, and one node more: enough that no node waits
    for work and that the pool sees what to ask for, and no more, since amounts are decided when a task is handed over.
    """

    def __init__(self) -> None:
        self.cluster = ""
        self.limits = Resources()
        self.larger: tuple[Resources, ...] = ()
        self.lends = False
        self.nodes: dict[str, tuple[str, Resources]] = {}  # the tag of its job, and what it has
        self._asked: dict[str, Resources] = {}  # by tag: jobs that none of the nodes is of
        self._queues = False

    def take(self, record: records.Event | records.Decision) -> None:
        """Follow a record."""
        match record:
            case records.RunStarted():
                self.cluster, self._queues = record.cluster, bool(record.plan)
            case records.LimitsRead() if record.wish is None:
                self.limits, self.larger, self.lends = record.limits, record.larger, record.lends
            case records.Submit():
                each = record.request.per_node
                self._asked[record.tag] = _sum([each.replace(nodes=1)] * each.nodes)
            case records.NodeUp():
                self._asked.pop(record.tag, None)
                self.nodes[record.node] = (record.tag, record.capacity)
            case records.NodeLost():
                self.nodes.pop(record.node, None)
            case records.Shrink():
                self.nodes = {name: it for name, it in self.nodes.items() if name not in record.nodes}
            case records.Release():
                self._forget(record.tag)
            case records.JobState() if record.phase is JobPhase.ENDED:
                self._forget(record.tag)

    def _forget(self, tag: str) -> None:
        self._asked.pop(tag, None)
        self.nodes = {name: it for name, it in self.nodes.items() if it[0] != tag}

    def has(self) -> Resources:
        """What all nodes have together."""
        return _sum(capacity for _, capacity in self.nodes.values())

    def offered(self) -> Resources:
        """How much a workflow may hand over at a time."""
        usual = _sum([self.limits])
        if not self._queues:
            return usual
        room = _sum([self.has(), *self._asked.values(), usual])
        for kind in self.larger:
            room = room.covering(kind)
        return room


def _sum(parts: Iterable[Resources]) -> Resources:
    return sum((part.replace(nodes=1, walltime_s=None) for part in parts), Resources())
