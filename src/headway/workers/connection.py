"""The contract of the line between a manager and a node's supervisor, whatever carries it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from headway.workers import protocol


class Connection(ABC):
    """A connection to one supervisor. A message may be lost with it: whoever connects again says again what counts,
    and the supervisor repeats what was not noted (see `protocol`)."""

    hello: protocol.Hello

    @abstractmethod
    def send(self, message: protocol.Message) -> None:
        """Send a message; if the connection is lost, `hear` will tell."""

    @abstractmethod
    async def receive(self) -> protocol.ToManager | None:
        """The next message, or None when the connection is lost."""

    @abstractmethod
    async def flush(self) -> None:
        """Wait until all that was said is on its way."""

    @abstractmethod
    def close(self) -> None:
        """Hang up."""


class Connections(ABC):
    """How a manager reaches the nodes of its jobs.

    On every node of an allocation `node_command` runs: it starts the node's supervisor and whatever carries its line.
    Both outlive the manager. A manager that comes after another connects anew; the newest is the one that counts.
    """

    name: str

    @abstractmethod
    def node_command(self, tag: str) -> Sequence[str]:
        """What a job runs on each of its nodes."""

    def key(self, tag: str, node: str) -> str:
        """A name for that node of that job: a node may serve one job after another, or two at a time."""
        return f"{node}#{tag.rpartition('-')[2]}"

    def node_of(self, key: str) -> str:
        """As the batch system calls the node of that name."""
        return key.rpartition("#")[0]

    async def open(self) -> None:
        """Be ready for connections; called once, before any."""

    @abstractmethod
    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        """A line to the supervisor of that node of that job; None if it does not answer in time."""

    async def close(self) -> None:
        """Hang up; what runs on the nodes goes on."""

    async def end(self) -> None:
        """The run is over: hang up, and whatever served the lines may go."""
        await self.close()
