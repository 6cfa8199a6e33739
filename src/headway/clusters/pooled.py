"""A pool as a cluster: it grants at once one node, which is as large as what the pool has and may soon have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway.clusters.base import Cluster, JobNews
from headway.clusters.local import RunJobs
from headway.clusters.machine import part_of
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.resources import Resources
from headway.workers import protocol
from headway.workers.pool_place import PoolPlace, PoolRefusedError

NODE = "pool"  # the one node that a run has there


class PooledCluster(Cluster):
    """A run's only job here is its place in the pool. What may run side by side is decided by the pool.

    `stated` is the most that the run may use of the pool at a time.
    """

    name = "pool"

    def __init__(
        self, jobs: RunJobs, place: PoolPlace, stated: Mapping[str, float] | None = None, *, lenient: bool = False
    ) -> None:
        self._jobs = jobs
        self._place = place
        self._stated = stated or {}
        self._lenient = lenient
        self._told: protocol.Told | None = None

    def _ask(self) -> protocol.Told:
        self._told = self._place.told()
        self.lends = self._told.lends
        return self._told

    def limits(self) -> Resources:
        return part_of(self._ask().limits.replace(nodes=1), self._stated, lenient=self._lenient)

    def larger_nodes(self) -> tuple[Resources, ...]:
        return () if self._stated else tuple(kind.replace(nodes=1) for kind in (self._told or self._ask()).larger)

    def on_node(self, request: JobRequest, tag: str, node: str) -> Resources:
        return self.part(self._told.room if self._told else request.per_node)

    def part(self, room: Resources) -> Resources:
        """What this run may use of what the pool offers."""
        return part_of(room.replace(nodes=1, walltime_s=None), self._stated, lenient=True)

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        if not self._place.exists:
            todo = f"start it with `{self._place.start}`, then `headway resume`"
            raise SiteError(f"the pool {self._place.name!r} has ended", todo=todo)

    def find(self, tags: Iterable[str]) -> set[str]:
        if not self._place.exists:
            return set()
        try:
            told = self._ask()
        except PoolRefusedError:
            return set()
        except SiteError:  # it was killed, and what it started may still run
            return set(tags)
        ours = [member for member in told.members if member.run == self._jobs.uid]
        return set(tags) if any(member.waiting or member.running for member in ours) else set()

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return dict.fromkeys(tags, JobPhase.RUNNING if self._place.exists else JobPhase.ENDED)

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        over = f"the pool {self._place.name!r} has ended"
        return {
            tag: JobNews(phase, nodes=(NODE,), message=over if phase is JobPhase.ENDED else "")
            for tag, phase in self.poll(tags).items()
        }

    def cancel(self, tags: Iterable[str]) -> None:
        if self._place.exists and list(tags):
            self._place.ask(protocol.Withdraw(self._jobs.uid), timeout_s=None)
