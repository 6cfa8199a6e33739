"""Creates the environments that tasks wait for, each once, beside the driver."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from headway.drivers.background import Background
from headway.drivers.inbox import Inbox
from headway.model.records import EnvironmentMissing
from headway.model.software import Software
from headway.workers.environments import Environment, create, described_environment


class Environments:
    """The environments of a run's tasks, in the manager: nodes of a cluster may have no network to create them."""

    def __init__(self, directory: Path, inbox: Inbox, background: Background) -> None:
        self._directory = directory
        self._inbox = inbox
        self._background = background
        self._creations: dict[Path, asyncio.Task[Exception | None]] = {}

    async def prepare(self, software: Software) -> None:
        """Return when the environment exists; a HeadwayError if it cannot be created, for each task that needs it."""
        environment = described_environment(software, self._directory)
        if environment is None or environment.ready.exists():
            return
        if environment.prefix not in self._creations:
            self._creations[environment.prefix] = self._background.start(self._create(environment), report=False)
        error = await asyncio.shield(self._creations[environment.prefix])
        if error is not None:
            raise error

    async def _create(self, environment: Environment) -> None:
        log = environment.log.relative_to(self._directory)
        self._inbox.put(EnvironmentMissing(time.time(), str(environment), str(log)))
        await create(environment)
