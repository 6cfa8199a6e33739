"""Starts the attempts that the engine has decided on, tells them to save their state, and stops them."""

from __future__ import annotations

import asyncio
import logging
import math
import time

from msgspec import Struct, structs

from headway.drivers.background import Background
from headway.drivers.environments import Environments
from headway.drivers.feed import Feed
from headway.drivers.inbox import Inbox
from headway.drivers.inputs import InputReader
from headway.drivers.node_connections import NodeConnections
from headway.engine.engine import Engine
from headway.engine.state import Running
from headway.journal.folder import RunFolder
from headway.model import records
from headway.model.errors import HeadwayError
from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.connection import Connections

_log = logging.getLogger(__name__)


class Starting(Struct, eq=False, dict=True):
    """Sends messages about attempts to the nodes on which they run."""

    engine: Engine
    connector: Connections
    connections: NodeConnections
    folder: RunFolder
    inputs: InputReader
    feed: Feed | None
    environments: Environments
    inbox: Inbox
    background: Background

    def __post_init__(self) -> None:
        self._preparing: dict[str, asyncio.Task[Exception | None]] = {}  # tasks that wait for their environment

    def start(self, task_id: str) -> None:
        """Send a task's start message; without a connection it is sent when the node is connected."""
        state = self.engine.tasks[task_id]
        running = state.running
        if running is None:
            return
        if self.feed is not None and not self.feed.may_start(task_id):
            outcome = Outcome(task_id, state.attempts, Ending.CANCELLED, time.time(), time.time())
            self.inbox.put(records.TaskEnded(time.time(), outcome))
        elif state.task.software and task_id not in self._preparing:
            self._preparing[task_id] = self.background.start(self._start_prepared(task_id))
        elif not state.task.software:
            self.connections.send(running.node, self._start_message(state.attempted, running))

    async def _start_prepared(self, task_id: str) -> None:
        """Start a task when its environment exists. Meanwhile its node may have been lost, and another be chosen."""
        state = self.engine.tasks[task_id]
        problem = ""
        try:
            await self.environments.prepare(state.task.software)
        except HeadwayError as error:
            problem = str(error)
        finally:
            self._preparing.pop(task_id, None)
        if state.running is not None and problem:
            now = time.time()
            outcome = Outcome(task_id, state.running.attempt, Ending.LAUNCH_FAILED, now, now, message=problem)
            self.inbox.put(records.TaskEnded(now, outcome))
        elif state.running is not None:
            self.connections.send(state.running.node, self._start_message(state.attempted, state.running))

    def _start_message(self, task: Task, running: Running) -> protocol.Start:
        state = self.engine.tasks[task.id]
        is_first = running.attempt == 1 and not state.remade_for
        stale = state.stale if is_first or task.isolated else ()
        directory = task.work.folder if task.work else str(self.folder.attempt(task.id, running.attempt))
        span = [self.connector.node_of(name) for name in running.nodes] if task.nodes > 1 else []
        until = self.engine.nodes[running.node].until
        ends_at = until if until < math.inf else None
        lent = running.ceiling != running.resources
        held, node_bytes = (running.resources, self.engine.limits.memory_bytes) if lent else (None, 0)
        expiries = self.engine.tasks[task.id].expiries
        about = (tuple(span), ends_at, held, node_bytes, expiries, running.devices)
        if task.work is None:
            seen = self.inputs.linked(self.engine.tasks[task.id].inputs)
            shown = tuple(name for path in task.shown for name in self.inputs.resolve(path, task))
            task = structs.replace(task, inputs=seen, shown=shown)
        return protocol.Start(task, running.attempt, directory, running.ceiling, *about, stale=stale)

    def kill(self, decision: records.Kill) -> None:
        """Stop an attempt, also one that waits for its environment."""
        running = self.engine.tasks[decision.task].running
        if (preparing := self._preparing.get(decision.task)) is not None:
            preparing.cancel()
            now = time.time()
            outcome = Outcome(decision.task, decision.attempt, Ending.CANCELLED, now, now)
            self.inbox.put(records.TaskEnded(now, outcome))
        elif running is not None:
            self.connections.send(running.node, protocol.Stop(decision.task, decision.attempt))

    def give_notice(self, decision: records.GiveNotice) -> None:
        """Tell an attempt to save its checkpoint; without a connection it is told when its node is connected."""
        running = self.engine.tasks[decision.task].running
        if running is not None:
            _log.info("%s is told to save its checkpoint: %s", decision.task, decision.why.text)
            self.connections.send(running.node, protocol.GiveNotice(decision.task, decision.attempt))
