"""A client without the key cannot connect; a client with the key can use only the pool's own operations."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("distributed")

import psutil
from distributed import Client, Security
from distributed.comm.core import connect
from distributed.protocol import to_serialize

from headway.workers.pool.address import FIND, SchedulerAddress, name_in_pool, reach
from headway.workers.pool.keys import make_keys, security
from tests.workers.pool_nodes import TAG, Nodes, connected, connections_of, drive, next_outcome, start_message


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path / "run")
    yield made
    made.stop()


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def addresses(nodes: Nodes) -> tuple[str, str]:
    """Return the addresses of the scheduler and of the relay of n1."""
    where = SchedulerAddress.read(nodes.pool)
    assert where is not None
    reached = await reach(where, security(nodes.pool).get_connection_args("client"))
    assert reached is not None
    scheduler, comm = reached
    await comm.write({"op": FIND, "reply": False})
    await comm.write(name_in_pool(TAG, "n1"))
    (relay,) = await comm.read()
    await comm.close()
    return scheduler, relay


def test_processes_that_make_keys_at_the_same_time_share_them(tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make_keys, [pool] * 16))
    assert sorted(path.name for path in pool.iterdir()) == ["keys"]
    before = {path.name: path.read_bytes() for path in (pool / "keys").iterdir()}
    make_keys(pool)
    assert {path.name: path.read_bytes() for path in (pool / "keys").iterdir()} == before


def test_every_run_has_keys_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_keys(tmp_path / name)
    assert (tmp_path / "a/keys/key.pem").read_bytes() != (tmp_path / "b/keys/key.pem").read_bytes()


def test_only_the_owner_can_read_the_pools_folder(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        await connected(connections, "n1")
        await connections.close()

    drive(work)
    found = [nodes.pool, *nodes.pool.rglob("*")]
    assert {permissions(path) for path in found if path.is_dir()} == {0o700}
    assert {permissions(path) for path in found if path.is_file()} == {0o600}
    assert {path.name for path in found} >= {"key.pem", "certificate.pem", "scheduler.json", "scheduler.log", "lock"}


def test_a_client_without_the_runs_key_is_refused(nodes: Nodes, tmp_path: Path) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        connection = await connected(connections, "n1")
        make_keys(tmp_path / "other")
        other = security(tmp_path / "other").get_connection_args("client")
        in_memory = Security.temporary().get_connection_args("client")
        for address in await addresses(nodes):
            for tls in (other, in_memory):
                with pytest.raises(OSError):
                    await connect(address, timeout=5, **tls)
            with pytest.raises(OSError):
                await connect(address.replace("tls://", "tcp://"), timeout=5)
            await asyncio.to_thread(garbage_is_answered_by_hanging_up, address)
        connection.send(start_message(nodes.directory, "still-there", "true"))
        assert (await next_outcome(connection)).task == "still-there"
        await connections.close()

    drive(work)


def garbage_is_answered_by_hanging_up(address: str) -> None:
    host, _, port = address.removeprefix("tls://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(1000))
        received = bytearray()
        try:
            while part := plain.recv(1000):
                received += part
        except ConnectionResetError:
            pass
    assert b"HTTP" not in received
    assert b"headway" not in received


def test_a_plain_dask_client_is_refused_and_so_is_one_with_the_key(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        await connected(connections, "n1")
        scheduler, _ = await addresses(nodes)
        with pytest.raises(OSError):
            await Client(scheduler.replace("tls://", "tcp://"), asynchronous=True, set_as_default=False, timeout=3)
        comm = await connect(scheduler, **security(nodes.pool).get_connection_args("client"))
        await comm.write({"op": "register-client", "client": "c", "versions": {}, "reply": True})
        assert "disallowed" in (await comm.read())["exception_text"]
        await comm.close()
        await connections.close()

    drive(work)


def test_the_pool_runs_no_code_that_is_sent_to_it(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        await connected(connections, "n1")
        tls = security(nodes.pool).get_connection_args("client")
        scheduler, relay = await addresses(nodes)
        for address, operations in (
            (scheduler, ("run_function", "register_worker_plugin", "register_scheduler_plugin", "broadcast", "proxy")),
            (relay, ("run", "run_coroutine", "plugin-add", "actor_execute", "upload_file", "update_data")),
        ):
            comm = await connect(address, **tls)
            for operation in operations:
                await comm.write({"op": operation, "function": to_serialize(len), "args": to_serialize(("x",))})
                answer = await comm.read()
                assert answer["status"] == "uncaught-error"
                assert f"'{operation}' handler has been explicitly disallowed" in answer["exception_text"]
            await comm.close()
        await connections.close()

    drive(work)


def test_settings_of_the_users_own_dask_do_not_reach_the_pool(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("SCHEDULER", "WORKER"):
        monkeypatch.setenv(f"DASK_DISTRIBUTED__{part}__PRELOAD", '["no.such.module"]')
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CIPHERS", "no-such-cipher")

    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        connection = await connected(connections, "n1")
        connection.send(start_message(nodes.directory, "a", "true"))
        assert (await next_outcome(connection)).task == "a"
        await connections.close()

    drive(work)


def test_two_runs_cannot_reach_each_others_pool(nodes: Nodes, tmp_path: Path) -> None:
    async def work() -> None:
        ours = connections_of(nodes.directory)
        await ours.open()
        nodes.start(ours, "n1")
        await connected(ours, "n1")
        where = SchedulerAddress.read(nodes.pool)
        assert where is not None
        strangers = Nodes(tmp_path / "strangers")
        try:
            make_keys(strangers.pool)
            where.write(strangers.pool)  # the address alone must not be enough
            theirs = connections_of(strangers.directory)
            await theirs.open()
            assert strangers.scheduler() not in (None, nodes.scheduler())
            assert await theirs.connect(TAG, "n1", 1.0) is None
            await theirs.close()
        finally:
            strangers.stop()
        await ours.close()

    drive(work)


def test_scheduler_and_relay_listen_once_each_and_on_nothing_but_tls(nodes: Nodes) -> None:
    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        await connected(connections, "n1")
        scheduler = nodes.scheduler()
        assert scheduler is not None
        for pid, address in zip((scheduler, nodes.relay("n1")), await addresses(nodes), strict=True):
            listening = [each for each in psutil.Process(pid).net_connections("inet") if each.status == "LISTEN"]
            assert [f"tls://{each.laddr.ip}:{each.laddr.port}" for each in listening] == [address]
        await connections.close()

    drive(work)


def test_a_link_where_dask_would_write_leads_nowhere(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder of its own Dask empties the file that another user's link names."""
    temporary, ours = tmp_path / "temporary", tmp_path / "ours"
    (temporary / "dask-scratch-space").mkdir(parents=True)
    ours.write_text("precious")
    for name in ("global.lock", "purge.lock"):
        (temporary / "dask-scratch-space" / name).symlink_to(ours)
    monkeypatch.setenv("TMPDIR", str(temporary))

    async def work() -> None:
        connections = connections_of(nodes.directory)
        await connections.open()
        nodes.start(connections, "n1")
        await connected(connections, "n1")
        assert ours.read_text() == "precious"
        await connections.close()

    drive(work)
