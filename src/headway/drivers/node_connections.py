"""`NodeConnections`: the connections to node supervisors that can be used now, and what is sent through them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headway.workers import protocol
from headway.workers.connection import Connection

_PATHS_PER_MESSAGE = 10_000


class NodeConnections:
    """Sends the driver's messages to supervisors. A message to a node without a connection is dropped: everything that
    matters is sent again when the node is connected."""

    def __init__(self) -> None:
        self._by_node: dict[str, tuple[str, Connection]] = {}  # tag of the job, and connection
        self._reported: dict[Connection, list[tuple[str, int]]] = {}  # ended attempts that are not acknowledged yet

    def add(self, tag: str, node: str, connection: Connection, produced: Sequence[str]) -> None:
        """Use a new connection; its supervisor is first told which paths the workflow's tasks produce."""
        _announce(connection, produced)
        self._by_node[node] = (tag, connection)

    def drop(self, node: str, connection: Connection | None = None) -> None:
        """Use the connection to a node no more; if one is given, only if it is still that one."""
        found = self._by_node.get(node)
        if found is not None and connection in (None, found[1]):
            del self._by_node[node]

    def send(self, node: str, message: protocol.Message) -> None:
        """Send a message to a node."""
        if node in self._by_node:
            self._by_node[node][1].send(message)

    def announce(self, produced: Sequence[str]) -> None:
        """Tell all supervisors of further paths that tasks produce."""
        for _, connection in self._by_node.values():
            _announce(connection, produced)

    def reported(self, connection: Connection, task: str, attempt: int) -> None:
        """Remember to acknowledge the end of an attempt where it was reported, once it is durable."""
        self._reported.setdefault(connection, []).append((task, attempt))

    def acknowledge(self) -> None:
        """Let supervisors forget the ends that they reported: all of them are in the journal.

        A lost acknowledgement does no harm: the supervisor reports again when it is connected again.
        """
        for connection, ended in self._reported.items():
            connection.send(protocol.Noted(ended))
        self._reported.clear()

    def of_job(self, tag: str) -> list[str]:
        """The nodes of a job that are connected."""
        return [node for node, (job, _) in self._by_node.items() if job == tag]

    async def leave(self, nodes: Iterable[str]) -> bool:
        """Tell the supervisors of nodes to end, and hang up; False if none of them is connected."""
        connections = [self._by_node.pop(node)[1] for node in nodes if node in self._by_node]
        for connection in connections:
            connection.send(protocol.Leave())
            await connection.flush()
            connection.close()
        return bool(connections)

    def close(self) -> None:
        """Hang up; supervisors and their tasks go on."""
        for _, connection in self._by_node.values():
            connection.close()


def _announce(connection: Connection, produced: Sequence[str]) -> None:
    for begin in range(0, len(produced), _PATHS_PER_MESSAGE):
        connection.send(protocol.Produced(list(produced[begin : begin + _PATHS_PER_MESSAGE])))
