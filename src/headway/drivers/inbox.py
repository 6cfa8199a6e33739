"""The driver's inbox: everything that happens to a run arrives here, in order, from tasks and threads alike."""

from __future__ import annotations

import asyncio
import contextlib

from msgspec import Struct

from headway.clusters.base import JobNews
from headway.model.outcome import Outcome
from headway.model.records import Event
from headway.model.resources import Resources
from headway.workers.connection import Connection
from headway.workers.protocol import Lost


class Connected(Struct, frozen=True):
    """A node's supervisor answered: for the first time, or again after its connection was lost."""

    tag: str
    node: str
    connection: Connection
    job_started_at: float | None  # as the cluster says


class Disconnected(Struct, frozen=True):
    """A connection to a supervisor was lost; the monitor is already trying to make a new one."""

    node: str
    connection: Connection


class AttemptEnded(Struct, frozen=True):
    """A supervisor reports the end of an attempt, possibly not for the first time."""

    at: float
    tag: str
    outcome: Outcome
    connection: Connection


class AttemptGone(Struct, frozen=True):
    """A pool reports that an attempt was lost there, possibly not for the first time."""

    at: float
    lost: Lost
    connection: Connection


class Resized(Struct, frozen=True):
    """A pool says how much may be handed to it at a time."""

    tag: str
    node: str
    capacity: Resources


class NodeGone(Struct, frozen=True):
    """A job goes on without one of its nodes."""

    at: float
    tag: str
    node: str
    message: str


class JobGone(Struct, frozen=True):
    """A job has ended; nothing of it runs any more."""

    at: float
    tag: str
    nodes: tuple[str, ...]  # those that had answered and were not lost before
    news: JobNews


class SignalTask(Struct, frozen=True):
    """The submitter of a task passes a signal on to it. It is no fact about the run: what the task does with it is."""

    task: str
    number: int


class Leave(Struct, frozen=True):
    """The manager has to leave the run as it is: the next manager goes on with it."""


class Failed(Struct, frozen=True):
    """The run cannot go on, for this reason."""

    error: Exception


OfJobs = Connected | Disconnected | AttemptEnded | AttemptGone | Resized | NodeGone | JobGone
Message = Event | OfJobs | SignalTask | Leave


class Inbox:
    """A queue of messages that every producer puts into and only the driver reads."""

    def __init__(self) -> None:
        """Belongs to the event loop that is running now."""
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Message | Failed] = asyncio.Queue()

    def put(self, message: Message | Failed) -> None:
        """Add a message, from the event loop's own thread."""
        self._queue.put_nowait(message)

    def put_from_thread(self, message: Message | Failed) -> None:
        """Add a message, from any thread; without effect when the run is over."""
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._queue.put_nowait, message)

    async def take(self, gather_s: float = 0.0) -> list[Message]:
        """Wait for a message, and `gather_s` for more; return all that arrived, oldest first. An error is raised."""
        arrived = [await self._queue.get()]
        if gather_s:
            await asyncio.sleep(gather_s)
        arrived += [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        messages: list[Message] = []
        for message in arrived:
            if isinstance(message, Failed):
                raise message.error
            messages.append(message)
        return messages
