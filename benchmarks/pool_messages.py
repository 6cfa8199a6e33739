"""Five thousand short commands on the supervisors of eight nodes, through the pool, compared with dask.distributed.

Dask's workers start the same command with `subprocess` and measure nothing. Our supervisors claim each attempt, measure
and limit it, and write its result to disk. Both run the same number of commands at a time on the same number of nodes.
The start of the nodes is not timed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.connection import Connection
from headway.workers.pool.connections import DaskConnections

GOAL = 0.6
TAG = "bench"
ROOM = Resources(cores=1, memory_bytes=50_000_000, disk_bytes=50_000_000)
PATIENCE_S = 300.0

PEER = """
import subprocess, sys, time
from distributed import Client, LocalCluster

def command(number):
    return subprocess.run(["/bin/sh", "-e", "-c", "true"], check=True).returncode

if __name__ == "__main__":
    tasks, nodes, at_a_time = map(int, sys.argv[1:])
    cluster = LocalCluster(nodes, threads_per_worker=at_a_time, dashboard_address=None)
    with cluster, Client(cluster) as client:
        client.gather(client.map(command, range(-10 * nodes, 0)))
        began = time.perf_counter()
        client.gather(client.map(command, range(tasks)))
        print(time.perf_counter() - began)
"""


def peer_s(tasks: int, nodes: int, at_a_time: int, directory: Path) -> float:
    """Time dask.distributed without Headway."""
    (directory / "peer.py").write_text(PEER)
    words = [sys.executable, "peer.py", *map(str, (tasks, nodes, at_a_time))]
    return float(subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True).stdout.split()[-1])


class Pool:
    """Nodes on this machine, and a manager that keeps all of them busy."""

    def __init__(self, directory: Path, at_a_time: int) -> None:
        self._directory = directory
        self._at_a_time = at_a_time
        self._connections = DaskConnections(directory / "jobs", directory / "pool", "127.0.0.1", linger_s=1.0)

    async def measure_s(self, tasks: int, nodes: int) -> float:
        """Start the nodes, then time the commands."""
        (self._directory / "jobs" / TAG).mkdir(parents=True)
        (self._directory / "attempts").mkdir()
        protocol.SupervisorSettings("bench", "", "", str(self._directory), linger_s=60.0, grace_s=1.0).write(
            self._directory / "jobs"
        )
        await self._connections.open()
        names = [f"n{number}" for number in range(nodes)]
        command = list(self._connections.node_command(TAG))
        running = [subprocess.Popen(command, env=os.environ | {"SLURMD_NODENAME": name}) for name in names]
        try:
            connections = await asyncio.gather(*(self._connections.connect(TAG, name, PATIENCE_S) for name in names))
            await self._run(connections, list(range(-10 * nodes, 0)))
            began = time.perf_counter()
            await self._run(connections, list(range(tasks)))
            took_s = time.perf_counter() - began
            for connection in connections:
                assert connection is not None
                connection.send(protocol.Leave())
        finally:
            await self._connections.close()
            for process in running:
                process.wait(PATIENCE_S)
        return took_s

    async def _run(self, connections: list[Connection | None], waiting: list[int]) -> None:
        await asyncio.gather(*(self._keep_busy(connection, waiting) for connection in connections))

    async def _keep_busy(self, connection: Connection | None, waiting: list[int]) -> None:
        assert connection is not None, "a node does not answer"
        running = 0
        while waiting or running:
            while waiting and running < self._at_a_time:
                connection.send(self._start_message(waiting.pop()))
                running += 1
            if not running:
                return
            heard = await connection.receive()
            assert isinstance(heard, protocol.Ended), heard
            assert heard.outcome.ending is Ending.SUCCESS, heard
            connection.send(protocol.Noted([(heard.outcome.task, heard.outcome.attempt)]))
            running -= 1

    def _start_message(self, number: int) -> protocol.Start:
        name = f"t{number}"
        return protocol.Start(Task(name, "t", "true"), 1, str(self._directory / "attempts" / name), ROOM)


def main(tasks: int = 5_000, nodes: int = 8, at_a_time: int = 4) -> None:
    """Print the comparison."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        took_s = {"dask.distributed, subprocess": peer_s(tasks, nodes, at_a_time, Path(directory))}
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        took_s["supervisors through the pool"] = asyncio.run(Pool(Path(directory), at_a_time).measure_s(tasks, nodes))
    peer, ours = took_s.values()
    table = Table(title=f"{tasks:,} commands `true` on {nodes} nodes, {at_a_time} at a time on each; goal: {GOAL:.0%}")
    for heading in ("", "wall", "ms a command", "commands/s", "share of Dask's rate"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, each_s in took_s.items():
        table.add_row(
            name, f"{each_s:.1f} s", f"{each_s / tasks * 1e3:.2f}", f"{tasks / each_s:.0f}", f"{peer / each_s:.0%}"
        )
    console.print(table)
    console.print("goal reached" if peer / ours >= GOAL else "goal missed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
