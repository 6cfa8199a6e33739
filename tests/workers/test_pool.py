"""Connections through dask.distributed: tasks, outcomes, and the life of the pool's processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import locks
from headway.model.errors import SiteError
from headway.model.outcome import Ending
from headway.workers import protocol

pytest.importorskip("distributed")

from distributed.comm.core import Comm, connect, listen

from headway.workers.pool import connections as pool_connections
from headway.workers.pool.address import CONNECT, LOCK, SchedulerAddress, own_addresses
from headway.workers.pool.connections import DaskConnection, DaskConnections
from tests.workers.pool_nodes import (
    PATIENCE_S,
    TAG,
    Nodes,
    connected,
    connections_of,
    drive,
    next_outcome,
    start_message,
)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.stop()


def test_tasks_run_on_their_nodes_and_the_nodes_end_when_told(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        names = ("n1", "n2", "n3")
        nodes.start(connections, *names)
        found = {name: await connected(connections, name) for name in names}
        assert {name: connection.hello.node for name, connection in found.items()} == {name: name for name in names}
        for name, connection in found.items():
            for number in range(50):
                connection.send(start_message(nodes.directory, f"{name}-{number}", f'test "$SLURMD_NODENAME" = {name}'))
        for name, connection in found.items():
            outcomes = [await next_outcome(connection) for _ in range(50)]
            assert {outcome.task for outcome in outcomes} == {f"{name}-{number}" for number in range(50)}
            assert {outcome.ending for outcome in outcomes} == {Ending.SUCCESS}
        for connection in found.values():
            connection.send(protocol.Leave())
            await connection.flush()
            connection.close()
        await connections.close()
        for process in nodes.processes.values():
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0

    drive(work)


def test_the_last_message_arrives_although_outcomes_are_on_their_way(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        connection = await connected(connections, "n1")
        for number in range(200):
            connection.send(start_message(nodes.directory, f"t{number}", "true"))
        await next_outcome(connection)  # the others are on their way and will not be received
        connection.send(protocol.Leave())
        connection.close()
        await connections.close()
        assert await asyncio.to_thread(nodes.processes["n1"].wait, PATIENCE_S) == 0

    drive(work)


def test_a_message_longer_than_a_chunk_arrives_whole(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        connection = await connected(connections, "n1")
        connection.send(protocol.Produced([f"produced-{number:0100d}" for number in range(50_000)]))
        connection.send(start_message(nodes.directory, "long", f"true {'x' * 100_000}"))
        assert (await next_outcome(connection)).ending is Ending.SUCCESS
        await connections.close()
        assert await connection.receive() is None

    drive(work)


def test_a_new_manager_gets_unacknowledged_outcomes_and_the_old_one_is_disconnected(nodes: Nodes) -> None:
    async def work() -> None:
        first, second = connections_of(nodes.directory), connections_of(nodes.directory)
        await first.open()
        nodes.start(first, "n1")
        before = await connected(first, "n1")
        for name in ("a", "b"):
            before.send(start_message(nodes.directory, name, "true"))
        assert {(await next_outcome(before)).task for _ in range(2)} == {"a", "b"}
        before.send(protocol.Noted([("a", 1)]))
        await before.flush()
        await second.open()
        after = await connected(second, "n1")
        assert (await next_outcome(after)).task == "b"
        assert await before.receive() is None
        await first.close()
        await second.close()

    drive(work)


def test_connecting_to_a_missing_node_times_out(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        assert await connections.connect(TAG, "n9", 0.5) is None
        nodes.start(connections, "n1")
        await connected(connections, "n1")
        assert await connections.connect(TAG, "n", 0.5) is None  # a prefix of the name is not enough
        assert await connections.connect("headway-test", "n1", 0.5) is None
        await connections.close()

    drive(work)


def test_the_scheduler_outlives_managers_and_ends_when_it_is_alone(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory, linger_s=2.0)
        await connections.open()
        nodes.start(connections, "n1")
        connection = await connected(connections, "n1")
        scheduler = nodes.scheduler()
        assert scheduler is not None
        connection.close()
        await connections.close()
        await asyncio.sleep(3.0)  # longer than `linger_s`, but there is a node
        assert nodes.scheduler() == scheduler
        nodes.processes["n1"].terminate()
        while nodes.scheduler() is not None:
            await asyncio.sleep(0.1)
        assert SchedulerAddress.read(nodes.pool) is None

    drive(work)


def test_there_is_only_one_scheduler(nodes: Nodes) -> None:
    async def work() -> None:
        several = [connections_of(nodes.directory) for _ in range(3)]
        await asyncio.gather(*(connections.open() for connections in several))
        where = SchedulerAddress.read(nodes.pool)
        assert where is not None
        assert where.pid == nodes.scheduler()
        late = [sys.executable, "-P", "-m", "headway.workers.pool.scheduler", str(nodes.pool)]
        assert (await asyncio.to_thread(subprocess.run, late, check=False)).returncode == 0
        assert SchedulerAddress.read(nodes.pool) == where
        for connections in several:
            await connections.close()

    drive(work)


def test_a_scheduler_that_cannot_start_is_a_site_error_that_names_its_log(nodes: Nodes) -> None:
    async def work() -> None:
        connections = DaskConnections(
            nodes.jobs, nodes.pool, "192.0.2.1"
        )  # an address for documentation, which no host has
        with pytest.raises(SiteError, match="scheduler does not answer") as error:
            await connections.open()
        assert "assign requested address" in (nodes.pool / "scheduler.log").read_text()
        assert "scheduler.log" in str(error.value)
        await connections.close()

    drive(work)


def test_keys_that_cannot_be_made_are_a_site_error(tmp_path: Path) -> None:
    (tmp_path / "pool").write_text("a file where the folder should be")
    connections = DaskConnections(tmp_path / "jobs", tmp_path / "pool")
    with pytest.raises(SiteError, match="cannot make the pool's keys"):
        asyncio.run(connections.open())


def test_a_scheduler_that_ends_does_not_delete_its_successors_address(tmp_path: Path) -> None:
    old, new = (
        SchedulerAddress(("tls://10.0.0.1:1",), "login1", 1),
        SchedulerAddress(("tls://10.0.0.2:2",), "login2", 2),
    )
    old.write(tmp_path)
    new.write(tmp_path)
    old.withdraw(tmp_path)
    assert SchedulerAddress.read(tmp_path) == new
    new.withdraw(tmp_path)
    assert SchedulerAddress.read(tmp_path) is None


@given(st.lists(st.text(max_size=30), max_size=20), st.data())
def test_messages_are_received_whole_and_in_order_however_they_are_cut(words: list[str], data: st.DataObject) -> None:
    messages = [protocol.Trouble(word, "") for word in words]
    stream = b"".join(map(protocol.encode, messages))
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=10).map(sorted))
    parts = [stream[begin:end] for begin, end in pairwise([0, *places, len(stream)])]

    async def relay(comm: Comm) -> None:
        assert (await comm.read())["op"] == CONNECT
        for part in parts:
            await comm.write(part)
        await comm.close()

    async def work() -> None:
        async with listen("inproc://", relay) as listener:
            connection = DaskConnection(await connect(listener.contact_address))
            received = [await connection.receive() for _ in messages]
            assert received == messages
            assert await connection.receive() is None
            await asyncio.wait([connection.sending])

    drive(work)


def test_own_addresses_contain_loopback_only_if_there_is_no_other() -> None:
    found = own_addresses()
    assert found
    assert found == ["127.0.0.1"] or not any(address.startswith("127.") for address in found)


def test_dask_is_loaded_only_where_it_is_used() -> None:
    code = f"import {pool_connections.__name__}, sys; print('distributed' in sys.modules or 'dask' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout.split() == ["False"]


def test_no_process_of_the_pool_is_left_after_the_run(tmp_path: Path) -> None:
    async def work() -> None:
        pool = tmp_path / "pool"
        connections = DaskConnections(tmp_path / "jobs", pool, host="127.0.0.1")
        await connections.open()
        assert locks.holder(pool / LOCK) is not None
        await connections.end()
        async with asyncio.timeout(120):
            while locks.holder(pool / LOCK) is not None:
                await asyncio.sleep(0.1)

    asyncio.run(work())
