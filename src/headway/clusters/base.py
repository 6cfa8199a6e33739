"""The contract of a cluster."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Iterable

from headway.clusters.news import JobNews
from headway.model.job import JobPhase, JobRequest
from headway.model.records import QueueRead
from headway.model.resources import Resources


class Cluster(ABC):
    """Grants allocations. It never calls anybody: a driver asks and carries the answers.

    Jobs are known by tags that the engine made. A tag is submitted at most once: asking again for a tag that is there
    changes nothing, so that a manager which died between asking and hearing may simply ask again.
    """

    name: str
    queues: bool = False  # whether jobs wait for their turn, and may be many
    look_every_s: float = 0.5  # how often it is worth asking for news

    def called(self) -> str:
        """Which machine or cluster this is: what was learned here is not believed elsewhere."""
        return socket.gethostname()

    @abstractmethod
    def limits(self) -> Resources:
        """The most that one task can be given here."""

    def most_jobs(self) -> int | None:
        """How many jobs one may have here; None if no limit is known."""
        return None

    @property
    def calls(self) -> dict[str, int]:
        """How often each of the batch system's commands was called."""
        return {}

    @abstractmethod
    def submit(self, request: JobRequest, tag: str, after: str | None = None) -> None:
        """Ask for an allocation under that tag, not to be granted before the end of the job that is called `after`."""

    @abstractmethod
    def find(self, tags: Iterable[str]) -> set[str]:
        """Those of `tags` that the cluster knows."""

    @abstractmethod
    def poll(self, tags: Iterable[str]) -> dict[str, JobPhase]:
        """Where each job is; UNKNOWN where that cannot be told now."""

    def news(self, tags: Iterable[str]) -> dict[str, JobNews]:
        """All that is known of jobs."""
        return {tag: JobNews(phase) for tag, phase in self.poll(tags).items()}

    def snapshot(self) -> QueueRead:
        """A look at the queue, by which waits are reckoned; only where jobs wait for their turn."""
        raise NotImplementedError

    @abstractmethod
    def cancel(self, tags: Iterable[str]) -> None:
        """End jobs, with all that runs in them; when this returns, nothing of them runs any more."""
