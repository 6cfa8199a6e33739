"""`workers.node`, which runs a supervisor and a relay, and marks the end of the supervisor and all its processes."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import stat
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("psutil")

import psutil

from headway.model.outcome import Ending
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.attempt import AttemptFolder
from headway.workers.connection import Connection
from headway.workers.node import OVER, node_command, node_folder
from headway.workers.socket_connection import SocketConnection

PATIENCE_S = 120.0
ROOM = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9)
TAG, NODE = "headway-test-7", "n3"


class Node:
    """One node of a job, started as by Slurm: with a umask that is not the user's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.job = directory / "jobs" / TAG
        self.job.mkdir(parents=True, mode=0o700)
        self.folder = node_folder(self.job, NODE)
        self.uid = secrets.token_hex(6)
        protocol.SupervisorSettings(self.uid, "", "", str(directory), linger_s=600.0, grace_s=1.0).write(
            self.job.parent
        )
        command = node_command(self.job, "files")
        self.process = subprocess.Popen(command, env=os.environ | {"SLURMD_NODENAME": NODE}, umask=0o077)

    async def start(self, command: str) -> Connection:
        """Start a task on the supervisor."""
        while not self.folder.is_dir():
            await asyncio.sleep(0.01)
        connection = await SocketConnection.open(self.folder, PATIENCE_S)
        assert connection is not None
        connection.send(protocol.Start(Task("t", "c", command), 1, str(self.directory / "attempt"), ROOM))
        return connection

    async def pids_of(self, name: str) -> list[int]:
        """Return the process ids that a task wrote to a file."""
        while not (self.directory / name).exists():
            await asyncio.sleep(0.01)
        return [int(word) for word in (self.directory / name).read_text().split()]

    async def ended(self) -> int:
        return await asyncio.to_thread(self.process.wait, PATIENCE_S)

    @property
    def is_over(self) -> bool:
        return (self.folder / OVER).exists()


def drive(directory: Path, work: Callable[[Node], Awaitable[None]]) -> None:
    node = Node(directory)

    async def within() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await work(node)

    try:
        asyncio.run(within())
    finally:
        node.process.terminate()
        node.process.wait(PATIENCE_S)


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def is_alive(pid: int) -> bool:
    """Whether a process runs. A zombie does not: in a container there may be no init process that reaps orphans."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# Two processes that ignore signals, one of them in a session of its own.
STAYS = "setsid sh -c 'trap \"\" TERM HUP; sleep 600 & echo $$ $! > new; mv new pids; wait' & sleep 600"


def test_the_node_is_over_when_all_processes_of_a_killed_supervisor_are_gone(tmp_path: Path) -> None:
    async def work(node: Node) -> None:
        connection = await node.start(STAYS)
        pids = await node.pids_of("pids")
        assert not node.is_over
        os.kill(connection.hello.pid, signal.SIGKILL)
        while not node.is_over:
            await asyncio.sleep(0.01)
        assert not [pid for pid in pids if is_alive(pid)]
        await node.ended()

    drive(tmp_path, work)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_node_that_gets_a_signal_waits_for_its_supervisor(tmp_path: Path, number: signal.Signals) -> None:
    """The supervisor stops its task, which takes a moment, and writes the result; only then is the node over."""

    async def work(node: Node) -> None:
        await node.start('trap "echo > asked; sleep 0.5; echo > obeyed; exit" TERM; echo $$ > pids; sleep 600 & wait')
        await node.pids_of("pids")
        processes = below(node.process.pid)
        assert len(processes) >= 3
        node.process.send_signal(number)
        assert await node.ended() == 0
        assert node.is_over
        assert (tmp_path / "obeyed").exists()
        outcome = AttemptFolder(tmp_path / "attempt").result()
        assert outcome is not None
        assert outcome.ending is Ending.CANCELLED
        assert not [process for process in processes if process.is_running()]

    drive(tmp_path, work)


def test_the_node_ends_with_its_supervisor(tmp_path: Path) -> None:
    async def work(node: Node) -> None:
        connection = await node.start("true")
        assert isinstance(await connection.receive(), protocol.Ended)
        assert not node.is_over
        processes = below(node.process.pid)
        connection.send(protocol.Leave())
        assert await node.ended() == 0
        assert node.is_over
        assert not [process for process in processes if process.is_running()]

    drive(tmp_path, work)


def test_a_supervisor_knows_its_node_and_its_job(tmp_path: Path) -> None:
    """So that its processes are distinguished from those of the run's other jobs and nodes on this host."""

    async def work(node: Node) -> None:
        connection = await node.start("true")
        assert connection.hello.node == NODE
        settings = protocol.SupervisorSettings.read(node.folder)
        assert (settings.uid, settings.tag, settings.node) == (f"{node.uid}/{NODE}#7", TAG, NODE)

    drive(tmp_path, work)


def test_files_of_tasks_have_the_users_umask_and_files_of_the_node_are_private(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:

        async def work(node: Node) -> None:
            connection = await node.start("mkdir made; echo > made/file")
            assert isinstance(await connection.receive(), protocol.Ended)
            assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o750
            assert stat.S_IMODE((tmp_path / "made/file").stat().st_mode) == 0o640
            inside = [node.folder, *node.folder.rglob("*")]
            assert len(inside) >= 5
            assert not [path for path in inside if path.stat().st_mode & 0o077]

        drive(tmp_path, work)
    finally:
        os.umask(before)
