"""`Shrinking`: gives back nodes of running jobs, with few calls of the batch system."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from headway.clusters.base import Cluster
from headway.drivers.background import Background
from headway.drivers.inbox import Inbox
from headway.model.errors import SiteError
from headway.model.job import JobRequest
from headway.model.records import Shrunk
from headway.workers.connection import Connections

_log = logging.getLogger(__name__)

_GATHER_S = 3.0  # supervisors end in this time, and more nodes of the job may follow
_LONGEST_PAUSE = 16  # times the usual one, while the batch system does not answer


class Giving(Struct):
    """The nodes that a job gives back: all, and those that the batch system was not told of yet."""

    nodes: list[str] = []
    untold: list[str] = []
    again_at: float = 0.0  # when it may be told again, by the clock of this process


class Shrinking:
    """Collects the nodes that each job gives back, and tells the cluster of them together, after some seconds.

    `left` says what a job still asks for, and None if it waits and runs no more: its nodes went with it.
    """

    def __init__(
        self,
        cluster: Cluster,
        connector: Connections,
        inbox: Inbox,
        background: Background,
        left: Callable[[str], JobRequest | None],
    ) -> None:
        self._cluster = cluster
        self._connector = connector
        self._inbox = inbox
        self._background = background
        self._left = left
        self._jobs: dict[str, Giving] = {}
        self._refused = False

    def give_back(self, tag: str, nodes: Sequence[str], *, told: bool = False) -> None:
        """Give back nodes of a job; nodes of which the batch system was `told` are only remembered."""
        job = self._jobs.setdefault(tag, Giving())
        is_under_way = bool(job.untold)
        job.nodes += nodes
        if not told:
            job.untold += nodes
            if not is_under_way:
                self._background.start(self._tell(tag, job))

    async def _tell(self, tag: str, job: Giving) -> None:
        every_s = pause_s = self._cluster.shrink_every_s
        once = await asyncio.to_thread(lambda: self._cluster.shrinks_once)  # it may ask the batch system
        gather_s = every_s if once else min(_GATHER_S, every_s)
        while job.untold:
            await asyncio.sleep(max(gather_s, job.again_at - time.monotonic()))
            left = self._left(tag)
            if left is None or self._refused or (once and job.nodes != job.untold):
                return
            job.again_at = time.monotonic() + pause_s
            told, names = tuple(job.untold), [self._connector.node_of(node) for node in job.nodes]
            try:
                refused = await asyncio.to_thread(self._cluster.shrink, tag, names, left)
            except SiteError as error:
                _log.info("job %s cannot give back nodes yet, trying again in %g s: %s", tag, pause_s, error)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE * every_s)
                continue
            job.untold = job.untold[len(told) :]
            self._refused = bool(refused)
            self._inbox.put(Shrunk(time.time(), tag, () if refused else told, refused))
