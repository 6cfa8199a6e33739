"""A pool on this machine: the processes that jobs start on their nodes, each with its own node name and folder."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from headway import locks
from headway.model.outcome import Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.connection import Connection
from headway.workers.node import node_folder
from headway.workers.pool.address import LOCK
from headway.workers.pool.connections import DaskConnections

ROOM = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9)
PATIENCE_S = 300.0
TAG = "headway-test-1"
HERE = "127.0.0.1"


def connections_of(directory: Path, linger_s: float = 600.0) -> DaskConnections:
    """Return the connections of a manager of the run in this directory."""
    return DaskConnections(directory / "jobs", directory / "pool", HERE, linger_s)


def start_message(directory: Path, name: str, command: str) -> protocol.Start:
    """Return the start message of a first attempt."""
    attempt = directory / "attempts" / name
    attempt.parent.mkdir(exist_ok=True)
    return protocol.Start(Task(name, "c", command), 1, str(attempt), ROOM)


class Nodes:
    """The nodes of one job of one run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.jobs = directory / "jobs"
        self.pool = directory / "pool"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        (self.jobs / TAG).mkdir(parents=True)
        protocol.SupervisorSettings(secrets.token_hex(6), "", "", str(directory), linger_s=600.0, grace_s=1.0).write(
            self.jobs
        )

    def start(self, connections: DaskConnections, *nodes: str) -> None:
        for node in nodes:
            environment = os.environ | {"SLURMD_NODENAME": node}
            self.processes[node] = subprocess.Popen(list(connections.node_command(TAG)), env=environment)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(PATIENCE_S)
        if (pid := self.scheduler()) is not None:
            os.kill(pid, signal.SIGKILL)

    def scheduler(self) -> int | None:
        """Return the process id of the pool's scheduler; None if there is none."""
        words = locks.holder(self.pool / LOCK)
        return int(words.split()[1]) if words else None

    def relay(self, node: str) -> int:
        """Return the process id of the node's relay."""
        wanted = ["headway.workers.pool.relay", str(node_folder(self.jobs / TAG, node))]
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _words(entry)[-2:] == wanted:
                return int(entry.name)
        raise AssertionError(f"{node} has no relay")


def _words(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")[:-1]
    except OSError:  # it has ended
        return []


async def connected(connections: DaskConnections, node: str) -> Connection:
    connection = await connections.connect(TAG, node, PATIENCE_S)
    assert connection is not None, f"{node} does not answer"
    return connection


async def next_outcome(connection: Connection) -> Outcome:
    message = await connection.receive()
    assert isinstance(message, protocol.Ended), message
    return message.outcome


async def until_ended(
    connections: DaskConnections, connection: Connection, starts: Iterable[protocol.Start]
) -> tuple[Connection, list[Outcome]]:
    """Collect all outcomes as a manager does: reconnect when a connection is lost and repeat the start messages."""
    unfinished = {start.task.id: start for start in starts}
    outcomes: list[Outcome] = []
    while unfinished:
        message = await connection.receive()
        if message is None:
            connection = await connected(connections, connection.hello.node)
            for start in unfinished.values():
                connection.send(start)
        elif isinstance(message, protocol.Ended) and unfinished.pop(message.outcome.task, None) is not None:
            outcomes.append(message.outcome)
            connection.send(protocol.Noted([(message.outcome.task, message.outcome.attempt)]))
    return connection, outcomes


def drive(work: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await work()

    asyncio.run(within())
