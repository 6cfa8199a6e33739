"""Gives back jobs, and nodes of jobs that go on: what supervises them ends first, then the batch system is told."""

from __future__ import annotations

import asyncio
import time

from msgspec import Struct

from headway.clusters.base import Cluster
from headway.drivers.background import Background
from headway.drivers.inbox import Inbox
from headway.drivers.job_monitor import JobMonitor
from headway.drivers.node_connections import NodeConnections
from headway.drivers.run_settings import POOL
from headway.drivers.shrinking import Shrinking
from headway.engine.engine import Engine
from headway.model import records
from headway.model.job import JobPhase, JobRequest
from headway.workers.connection import Connections

_LEAVE_WITHIN_S = 3.0  # for a job in a queue whose supervisors were told to end: then it need not be cancelled
_LEFT_AGAIN_S = 0.1


class GivingBack(Struct, eq=False, dict=True):
    """Releases and shrinks jobs; a queue is slow, so that a run goes on meanwhile."""

    engine: Engine
    cluster: Cluster
    connector: Connections
    connections: NodeConnections
    monitor: JobMonitor
    inbox: Inbox
    background: Background

    def __post_init__(self) -> None:
        self._releasing: list[asyncio.Task[Exception | None]] = []
        self._shrinking = Shrinking(self.cluster, self.connector, self.inbox, self.background, self._left)

    async def release(self, tag: str) -> None:
        """Give a job back; where jobs wait in a queue, meanwhile."""
        if self.cluster.queues:
            self._releasing.append(self.background.start(self._release(tag), report=False))
        else:
            await self._release(tag)

    async def all_released(self) -> None:
        """A finished run is never resumed: nothing of it may be left in the queue."""
        for error in await asyncio.gather(*self._releasing):
            if error is not None:
                raise error

    def shrink(self, decision: records.Shrink) -> None:
        """Give nodes of a job back, meanwhile."""
        self.background.start(self._shrink(decision))

    def again(self) -> None:
        """After a resume: give back what was to be given back before."""
        self._release_again()
        self._shrink_again()

    async def _release(self, tag: str) -> None:
        """Give a job back: its supervisors are told to end, and nothing of it stays in a queue."""
        self.monitor.release(tag)
        told = await self.connections.leave(self.connections.of_job(tag))
        deadline = time.monotonic() + _LEAVE_WITHIN_S
        while told and self.cluster.queues and time.monotonic() < deadline:
            if await asyncio.to_thread(self.cluster.has_left, tag):
                break
            await asyncio.sleep(_LEFT_AGAIN_S)
        if self.cluster.queues or not told:  # it may still wait, or its supervisor may not react
            await self.monitor.cancel(tag)

    async def _shrink(self, decision: records.Shrink) -> None:
        """Give nodes of a job back: their supervisors are told to end before the batch system would end them."""
        self.monitor.give_back(decision.nodes)
        await self.connections.leave(decision.nodes)
        self._shrinking.give_back(decision.tag, decision.nodes)

    def _left(self, tag: str) -> JobRequest | None:
        job = self.engine.jobs[tag]
        return job.request if job.live else None

    def _shrink_again(self) -> None:
        """After a resume: nodes that were to be given back are not used, and the batch system may not know of them."""
        for tag, nodes in self.engine.given.items():
            self.monitor.give_back(nodes)
            giving = self.engine.giving.get(tag, ())
            self._shrinking.give_back(tag, [node for node in nodes if node not in giving], told=True)
            if giving:
                self._shrinking.give_back(tag, giving)

    def _release_again(self) -> None:
        """After a resume: a job that was to be given back may still be in the queue, or its supervisor at work."""
        jobs = self.engine.jobs.values()
        tags = [job.tag for job in jobs if job.released and job.phase is not JobPhase.ENDED]
        if not self.cluster.queues:  # a pool knows nothing of released jobs
            tags = sorted(self.cluster.find(tags)) if self.connector.name != POOL else []
        if tags:
            cancelling = asyncio.to_thread(self.cluster.cancel, tags)
            self._releasing.append(self.background.start(cancelling, report=False))
