"""A cluster and node supervisors without processes, and a trace of everything in the order in which it happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import structs

from headway.clusters.base import Cluster, JobNews
from headway.journal.base import Journal
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, QueueRead
from headway.model.resources import Resources
from headway.workers import protocol
from headway.workers.connection import Connection, Connections

Trace = list[tuple[str, object]]
NODE = "n1"
MACHINE = Resources(cores=2, memory_bytes=8 * 10**9, disk_bytes=10**11)


class FakeCluster(Cluster):
    """Starts a job at once, unless `starts` is False; the tests change `jobs` to let things happen."""

    name = "fake"
    look_every_s = 0.01

    def __init__(self, trace: Trace | None = None, *, queues: bool = False) -> None:
        self.trace: Trace = [] if trace is None else trace
        self.queues = queues
        self.jobs: dict[str, JobNews] = {}
        self.starts = True
        self.failures = 0  # how many calls of `cancel` fail before one succeeds
        self.news_error: Exception | None = None

    def limits(self) -> Resources:
        return MACHINE

    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        self.trace.append(("submit", tag))
        started = JobNews(JobPhase.RUNNING, 1, started_at=100.0, nodes=(NODE,))
        self.jobs.setdefault(tag, started if self.starts else JobNews(JobPhase.PENDING, 1))

    def find(self, tags: Iterable[str]) -> set[str]:
        return set(tags) & self.jobs.keys()

    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        return {tag: news.phase for tag, news in self.news(tags).items()}

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        if self.news_error is not None:
            raise self.news_error
        return {tag: self.jobs.get(tag, JobNews(JobPhase.UNKNOWN)) for tag in tags}

    def cancel(self, tags: Iterable[str]) -> None:
        tags = list(tags)
        self.trace.append(("cancel", tags))
        if self.failures:
            self.failures -= 1
            raise SiteError("the batch system does not answer")
        for tag in tags:
            self.end(tag, Ending.CANCELLED)

    def snapshot(self) -> QueueRead:
        raise NotImplementedError

    def end(self, tag: str, ending: Ending, message: str = "") -> None:
        """Let a job end, if it has not yet."""
        known = self.jobs.get(tag)
        if known is not None and known.phase is not JobPhase.ENDED:
            self.jobs[tag] = structs.replace(known, phase=JobPhase.ENDED, ending=ending, message=message)


def success(start: protocol.Start) -> list[protocol.ToManager]:
    """Answer a start message with a success."""
    return [protocol.Ended(Outcome(start.task.id, start.attempt, Ending.SUCCESS, 1.0, 2.0))]


class FakeConnection(Connection):
    """A connection to a supervisor that answers start messages as `answer` says."""

    hello = protocol.Hello(NODE, 1, "none", "")

    def __init__(self, trace: Trace, answer: Callable[[protocol.Start], Sequence[protocol.ToManager]]) -> None:
        self._trace = trace
        self._answer = answer
        self._heard: asyncio.Queue[protocol.ToManager | None] = asyncio.Queue()
        self.said: list[protocol.Message] = []
        self.is_closed = False

    def send(self, message: protocol.Message) -> None:
        self.said.append(message)
        self._trace.append((type(message).__name__, message))
        if isinstance(message, protocol.Start):
            for answer in self._answer(message):
                self.tell(answer)

    def tell(self, message: protocol.ToManager | None) -> None:
        """Let the manager hear a message; None: the connection breaks."""
        self._heard.put_nowait(message)

    async def receive(self) -> protocol.ToManager | None:
        return await self._heard.get()

    async def flush(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True
        self._heard.put_nowait(None)


class FakeConnections(Connections):
    """Connects to every node at once, unless `answers` is False."""

    name = "fake"

    def __init__(self, trace: Trace | None = None) -> None:
        self.trace: Trace = [] if trace is None else trace
        self.made: list[FakeConnection] = []
        self.answers = True
        self.answer: Callable[[protocol.Start], Sequence[protocol.ToManager]] = success
        self.ended = ""

    def node_command(self, tag: str) -> Sequence[str]:
        return ["true"]

    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        await asyncio.sleep(0.001)
        if not self.answers:
            return None
        self.made.append(FakeConnection(self.trace, self.answer))
        return self.made[-1]

    async def close(self) -> None:
        self.ended = self.ended or "closed"

    async def end(self) -> None:
        self.ended = "ended"


class TracedJournal(Journal):
    """A journal in memory."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.records: list[Event | Decision] = []

    def append(self, records: Sequence[Event | Decision]) -> None:
        self.records += records
        self._trace += [("journal", record) for record in records]

    def replay(
        self, task: str | None = None, kinds: Collection[str] = (), *, brief: bool = False, after: int = 0
    ) -> Iterator[Event | Decision]:
        return iter(self.records[after:])

    def close(self) -> None:
        pass
