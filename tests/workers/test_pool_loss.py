"""A process of the pool that is killed loses messages, never results."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.model.outcome import Ending

pytest.importorskip("distributed")

from tests.workers.pool_nodes import (
    TAG,
    Nodes,
    connected,
    connections_of,
    drive,
    next_outcome,
    start_message,
    until_ended,
)

NAMES = ("n1", "n2", "n3")


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.stop()


def once(directory: Path, name: str) -> str:
    """Return a command that takes a second and adds a word to a file each time that it runs."""
    return f"sleep 1; echo {name} >> {directory}/ran"


def ran(directory: Path) -> list[str]:
    return sorted((directory / "ran").read_text().split())


def test_a_killed_scheduler_is_replaced_and_every_task_ran_once(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, *NAMES)
        found = {name: await connected(connections, name) for name in NAMES}
        starts = {
            name: [start_message(nodes.directory, f"{name}-{k}", once(nodes.directory, name)) for k in (1, 2)]
            for name in NAMES
        }
        for name, connection in found.items():
            for start in starts[name]:
                connection.send(start)
            await connection.flush()
        killed = nodes.scheduler()
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        ended = await asyncio.gather(*(until_ended(connections, found[name], starts[name]) for name in NAMES))
        outcomes = [outcome for _, some in ended for outcome in some]
        assert {outcome.ending for outcome in outcomes} == {Ending.SUCCESS}
        assert ran(nodes.directory) == sorted(NAMES * 2)
        for name in NAMES:  # the nodes join the next scheduler
            again = await connected(connections, name)
            again.send(start_message(nodes.directory, f"{name}-3", "true"))
            assert (await next_outcome(again)).ending is Ending.SUCCESS
        assert nodes.scheduler() not in (None, killed)
        await connections.close()

    drive(work)


def test_a_killed_relay_is_replaced_and_the_other_nodes_do_not_notice(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1", "n2")
        found = {name: await connected(connections, name) for name in ("n1", "n2")}
        starts = {name: start_message(nodes.directory, name, once(nodes.directory, name)) for name in found}
        for name, connection in found.items():
            connection.send(starts[name])
            await connection.flush()
        os.kill(nodes.relay("n1"), signal.SIGKILL)
        lost, (outcome,) = await until_ended(connections, found["n1"], [starts["n1"]])
        assert outcome.ending is Ending.SUCCESS
        assert lost is not found["n1"]
        assert (await next_outcome(found["n2"])).ending is Ending.SUCCESS
        assert ran(nodes.directory) == ["n1", "n2"]
        await connections.close()

    drive(work)


def test_a_killed_supervisor_ends_the_connection(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        connection = await connected(connections, "n1")
        os.kill(connection.hello.pid, signal.SIGKILL)
        assert await connection.receive() is None
        assert await connections.connect(TAG, "n1", 1.0) is None
        await connections.close()

    drive(work)


MANAGER = """
import asyncio, sys
from pathlib import Path
from tests.workers.pool_nodes import Nodes, connected, connections_of, next_outcome, start_message

async def work(directory):
    connections = connections_of(directory)
    await connections.open()
    connection = await connected(connections, "n1")
    connection.send(start_message(directory, "received", "true"))
    await next_outcome(connection)
    connection.send(start_message(directory, "not-received", f"sleep 1; echo not-received >> {directory}/ran"))
    await connection.flush()
    print("sent", flush=True)
    await asyncio.sleep(1000)

asyncio.run(work(Path(sys.argv[1])))
"""


def test_after_a_killed_manager_the_next_one_gets_all_unacknowledged_outcomes(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        nodes.pool.mkdir(mode=0o700)
        manager = subprocess.Popen(
            [sys.executable, "-c", MANAGER, str(nodes.directory)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        nodes.start(connections, "n1")
        assert manager.stdout is not None
        assert await asyncio.to_thread(manager.stdout.readline) == b"sent\n"
        scheduler = nodes.scheduler()
        manager.kill()
        manager.wait()
        manager.stdout.close()
        await connections.open()
        assert nodes.scheduler() == scheduler
        connection = await connected(connections, "n1")
        assert {(await next_outcome(connection)).task for _ in range(2)} == {"received", "not-received"}
        assert ran(nodes.directory) == ["not-received"]
        await connections.close()

    drive(work)
