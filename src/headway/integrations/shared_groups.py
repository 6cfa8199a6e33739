"""Calls that share processes, the groups of calls that are alike, and the workers that make them."""

from __future__ import annotations

import heapq
import socket
from itertools import count

from headway.integrations.calls import CallSpec
from headway.integrations.shared_worker import Request
from headway.model.outcome import Outcome
from headway.model.records import GiveUp, TaskEnded


class SharedCall:
    """A call that is ready: what it needs is there."""

    def __init__(self, spec: CallSpec, request: Request) -> None:
        self.spec = spec
        self.request = request
        self.attempt = 1
        self.failures = 0
        self.limit_s = spec.settings.limits.get("walltime_s")
        self.began_s = 0.0


class Group:
    """Calls that are alike, and their workers."""

    def __init__(self, spec: CallSpec, most: int) -> None:
        self.spec = spec
        self.most = most  # workers that are worth having
        self.workers: list[Worker] = []
        self._queue: list[tuple[float, int, SharedCall]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, call: SharedCall) -> None:
        """Add a call behind those of its priority."""
        heapq.heappush(self._queue, (-call.spec.settings.priority, next(self._numbers), call))

    def pop(self) -> SharedCall:
        """Take the next call."""
        return heapq.heappop(self._queue)[2]

    def missing(self) -> int:
        """Return how many more workers are worth having. A worker that waits for calls of its own does not count."""
        active = [worker for worker in self.workers if not worker.leaves and not worker.waits]
        busy = sum(worker.call is not None for worker in active)
        return min(len(self) + busy, self.most) - len(active)

    def is_starving(self) -> bool:
        """Whether calls wait and no worker makes any. One may wait for the next attempt of its worker."""
        waits = bool(self) or any(worker.call and not worker.connection for worker in self.workers)
        return waits and not any(worker.connection and not worker.waits for worker in self.workers)


class Worker:
    """A worker process, from the request for it to its end."""

    def __init__(self, task: str, group: Group) -> None:
        self.task = task
        self.group = group
        self.connection: socket.socket | None = None
        self.attempt = 0
        self.call: SharedCall | None = None  # the call that it makes, or that its next attempt makes first
        self.last: Outcome | None = None
        self.connected_s = 0.0
        self.printed = (0, 0)
        self.waits = False  # for calls that its function has submitted
        self.leaves = False
        self.timed_out = False
        self.unheard: list[TaskEnded | GiveUp] = []  # what the run said of it while it may still have answered
