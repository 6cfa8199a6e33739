"""`Admitting`: lets jobs start that were held back in the queue until another one ends."""

from __future__ import annotations

import asyncio
import logging

from msgspec import Struct

from headway.clusters.base import Cluster
from headway.drivers.background import Background
from headway.engine.engine import Engine
from headway.model.errors import SiteError

_log = logging.getLogger(__name__)

_AGAIN_S = 5.0  # while the batch system does not answer


class Admitting(Struct, eq=False):
    """Tells the batch system, which is slow, while the run goes on."""

    engine: Engine
    cluster: Cluster
    background: Background

    def admit(self, tag: str) -> None:
        """Let a waiting job start before the job that it depends on has ended."""
        self.background.start(self._admit(tag))

    async def _admit(self, tag: str) -> None:
        while self.engine.jobs[tag].live:
            try:
                await asyncio.to_thread(self.cluster.admit, tag)
            except SiteError as error:
                _log.info("job %s cannot be admitted yet, trying again in %g s: %s", tag, _AGAIN_S, error)
                await asyncio.sleep(_AGAIN_S)
            else:
                break
