"""Connections through files, to real supervisors on this machine that stand for nodes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import file_relay, protocol
from headway.workers.connection import Connection
from headway.workers.file_connection import FileConnection, FileConnections
from headway.workers.file_session import Session, newest_session
from headway.workers.node import node_folder

ROOM = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9)
PATIENCE_S = 120.0
TAG = "headway-test-1"


class Nodes:
    """The processes that a job starts, one for each node."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.jobs = directory / "jobs"
        self.connections = FileConnections(self.jobs)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        (self.jobs / TAG).mkdir(parents=True)
        protocol.SupervisorSettings(secrets.token_hex(6), "", "", str(directory), linger_s=600.0, grace_s=1.0).write(
            self.jobs
        )

    def start(self, node: str) -> None:
        environment = os.environ | {"SLURMD_NODENAME": node}
        self.processes[node] = subprocess.Popen(list(self.connections.node_command(TAG)), env=environment)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(PATIENCE_S)

    async def connect(self, node: str) -> Connection:
        connection = await self.connections.connect(TAG, node, PATIENCE_S)
        assert connection is not None
        return connection

    def start_message(self, name: str, command: str) -> protocol.Start:
        task = Task(name, "c", command)
        directory = self.directory / "attempts" / name
        directory.parent.mkdir(exist_ok=True)
        return protocol.Start(task, 1, str(directory), ROOM)

    def relays(self, node: str) -> list[int]:
        found = subprocess.run(
            ["pgrep", "-f", f"file_relay {node_folder(self.jobs / TAG, node)}"],
            capture_output=True,
            text=True,
            check=False,
        )
        return [int(word) for word in found.stdout.split()]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.stop()


def drive(work: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await work()

    asyncio.run(within())


async def outcome_of(connection: Connection) -> Outcome:
    message = await connection.receive()
    assert isinstance(message, protocol.Ended), message
    return message.outcome


def test_tasks_run_on_their_node_and_the_node_ends_when_told(nodes: Nodes) -> None:
    async def work() -> None:
        for node in ("n1", "n2"):
            nodes.start(node)
        connections = {node: await nodes.connect(node) for node in ("n1", "n2")}
        assert {node: connection.hello.node for node, connection in connections.items()} == {"n1": "n1", "n2": "n2"}
        for node, connection in connections.items():
            connection.send(nodes.start_message(f"on-{node}", f'test "$SLURMD_NODENAME" = {node}'))
        for node, connection in connections.items():
            outcome = await outcome_of(connection)
            assert (outcome.task, outcome.ending) == (f"on-{node}", Ending.SUCCESS)
            connection.send(protocol.Leave())
            await connection.flush()
            connection.close()
        for process in nodes.processes.values():
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0

    drive(work)


def test_hundreds_of_messages_arrive_in_both_directions(nodes: Nodes) -> None:
    async def work() -> None:
        nodes.start("n1")
        connection = await nodes.connect("n1")
        for number in range(300):
            connection.send(nodes.start_message(f"t{number}", "true"))
        ended = {(await outcome_of(connection)).task for _ in range(300)}
        assert ended == {f"t{number}" for number in range(300)}
        connection.send(protocol.Noted([(f"t{number}", 1) for number in range(300)]))
        await connection.flush()

    drive(work)


def test_a_new_manager_gets_unacknowledged_outcomes_and_the_old_one_is_disconnected(nodes: Nodes) -> None:
    async def work() -> None:
        nodes.start("n1")
        first = await nodes.connect("n1")
        first.send(nodes.start_message("a", "true"))
        assert (await outcome_of(first)).task == "a"
        second = await nodes.connect("n1")
        assert (await outcome_of(second)).task == "a"
        assert await first.receive() is None

    drive(work)


def test_a_relay_that_dies_is_replaced_and_nothing_is_lost(nodes: Nodes) -> None:
    async def work() -> None:
        nodes.start("n1")
        connection = await nodes.connect("n1")
        connection.send(nodes.start_message("slow", "sleep 1"))
        await connection.flush()
        for pid in nodes.relays("n1"):
            os.kill(pid, signal.SIGKILL)
        again = await nodes.connect("n1")
        again.send(nodes.start_message("slow", "sleep 1"))  # a manager repeats it, since the first one may be lost
        assert (await outcome_of(again)).ending is Ending.SUCCESS

    drive(work)


def test_the_death_of_the_supervisor_ends_the_connection(nodes: Nodes) -> None:
    async def work() -> None:
        nodes.start("n1")
        connection = await nodes.connect("n1")
        os.kill(connection.hello.pid, signal.SIGKILL)
        assert await connection.receive() is None

    drive(work)


def test_a_relay_that_is_ended_with_its_supervisor_ends_the_connection(nodes: Nodes) -> None:
    """`workers.node` may notice the supervisor's death first."""

    async def work() -> None:
        nodes.start("n1")
        connection = await nodes.connect("n1")
        (relay,) = nodes.relays("n1")
        os.kill(relay, signal.SIGTERM)
        assert await connection.receive() is None

    drive(work)


def test_connecting_to_a_missing_node_times_out(nodes: Nodes) -> None:
    async def work() -> None:
        assert await nodes.connections.connect(TAG, "n9", 0.3) is None
        node_folder(nodes.jobs / TAG, "n9").mkdir(parents=True)
        assert await nodes.connections.connect(TAG, "n9", 0.3) is None
        assert newest_session(node_folder(nodes.jobs / TAG, "n9")) is None  # no session is left for a relay

    drive(work)


def test_only_its_owner_can_read_a_session(tmp_path: Path) -> None:
    session = Session.begin(tmp_path)
    session.write(b"line\n")
    found = list((tmp_path / "sessions").rglob("*"))
    assert {path.stat().st_mode & 0o777 for path in found if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in found if path.is_file()} == {0o600}
    assert (tmp_path / "sessions").stat().st_mode & 0o777 == 0o700


def test_what_a_full_disk_does_not_take_is_written_later(small_disk: Path) -> None:
    """A relay that died of it again and again would keep its supervisor from seeing that the manager is gone."""
    session = Session.begin(small_disk)
    relay, lines = Session(session.folder, manager=False), [b"one\n", b"two\n"]
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)
    assert file_relay._pass_on(relay, lines) == 0
    (small_disk / "filler").unlink()
    assert file_relay._pass_on(relay, lines) == 2
    assert session.read() == lines


def test_written_lines_are_read_once_and_in_order(tmp_path: Path) -> None:
    manager = Session.begin(tmp_path)
    node = newest_session(tmp_path)
    assert node is not None
    manager.write(b"a\nb\n")
    manager.write(b"c\n")
    assert node.read() == [b"a\n", b"b\n", b"c\n"]
    manager.write(b"d\n")
    node.write(b"x\n")
    assert node.read() == [b"d\n"]
    assert node.read() == []
    assert manager.read() == [b"x\n"]
    later = Session.begin(tmp_path)
    found = newest_session(tmp_path)
    assert found is not None
    assert found.folder == later.folder
    assert node.last_heartbeat() > 0
    manager.end()
    assert node.last_heartbeat() == 0
    with pytest.raises(FileNotFoundError):
        node.read()


def test_a_closed_connection_receives_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        connection = FileConnection(Session.begin(tmp_path))
        connection.close()
        assert await connection.receive() is None

    drive(work)


def test_a_job_lingers_from_the_last_sign_of_its_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manager that was killed leaves its session; its silence is noticed late, and counts from its beginning."""
    monkeypatch.setattr(file_relay, "HEARTBEAT_TIMEOUT_S", 6.0)
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o700)
    settings = protocol.SupervisorSettings(secrets.token_hex(6), "t-1", "n1", str(tmp_path), linger_s=7.0, grace_s=1.0)
    settings.write(tmp_path)
    supervisor = subprocess.Popen([sys.executable, "-P", "-m", "headway.workers.supervisor", str(tmp_path)])

    async def work() -> None:
        manager = FileConnection(Session.begin(tmp_path))
        relaying = asyncio.create_task(file_relay.relay(tmp_path))
        assert await manager.is_greeted()
        began_s = time.monotonic()
        assert await asyncio.to_thread(supervisor.wait, PATIENCE_S) == 0
        assert 4.0 < time.monotonic() - began_s < 11.0  # from its start on it would take 13 s
        relaying.cancel()

    try:
        drive(work)
    finally:
        supervisor.terminate()
        supervisor.wait(PATIENCE_S)
