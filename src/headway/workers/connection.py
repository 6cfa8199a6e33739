"""The contract of a connection between a manager and a node's supervisor, whatever transport it uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import StreamReader
from collections.abc import Sequence
from pathlib import Path

from headway.workers import protocol
from headway.workers.node import node_command


class Connection(ABC):
    """A connection to one supervisor.

    Messages can be lost with the connection. A manager that reconnects repeats its start messages, and the supervisor
    repeats the outcomes that were not acknowledged (see `protocol`).
    """

    hello: protocol.Hello

    @abstractmethod
    def send(self, message: protocol.Message) -> None:
        """Send a message. If the connection is lost, the message is dropped and `receive` returns None."""

    @abstractmethod
    async def receive(self) -> protocol.ToManager | None:
        """Return the next message, or None if the connection is lost."""

    async def is_greeted(self) -> bool:
        """Receive the supervisor's greeting; return False if there is no supervisor at the other end."""
        hello = await self.receive()
        if not isinstance(hello, protocol.Hello):
            return False
        self.hello = hello
        return True

    @abstractmethod
    async def flush(self) -> None:
        """Wait until all messages have been handed to the transport."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class Connections(ABC):
    """How a manager reaches the nodes of its jobs.

    A job runs `node_command` on each of its nodes. It starts the node's supervisor and, where one is needed, a relay.
    Both outlive the manager. A later manager connects anew; the supervisor serves the newest connection only.
    """

    name: str
    trouble: str = ""  # why nobody can be reached now, for users who wait; empty: there is nothing to say

    def __init__(self, jobs: Path) -> None:
        self._jobs = jobs  # the folder of the jobs' folders

    def node_command(self, tag: str) -> Sequence[str]:
        """Return the command that a job runs on each of its nodes."""
        return node_command(self._jobs / tag, self.name)

    def key(self, tag: str, node: str) -> str:
        """Return a name for this node in this job: one node can serve several jobs, also at the same time."""
        return f"{node}#{tag.rpartition('-')[2]}"

    def node_of(self, key: str) -> str:
        """Return the batch system's name of the node with this key."""
        return key.rpartition("#")[0]

    async def open(self) -> None:
        """Get ready for connections. Called once, before the first `connect`."""

    @abstractmethod
    async def connect(self, tag: str, node: str, timeout_s: float) -> Connection | None:
        """Connect to the supervisor on this node of this job; None if it does not answer within `timeout_s`."""

    async def close(self) -> None:
        """Close all connections. Supervisors and tasks keep running."""

    async def end(self) -> None:
        """Close all connections and stop what served them: the run is over."""
        await self.close()


async def next_message(reader: StreamReader) -> protocol.ToManager | None:
    """Read the next message from a stream of lines; None if the connection is lost, or the line is no message."""
    try:
        line = await reader.readline()
        return protocol.decode_from_supervisor(line) if line.endswith(b"\n") else None
    except (ConnectionError, ValueError):  # ValueError: too long, or not a message
        return None
