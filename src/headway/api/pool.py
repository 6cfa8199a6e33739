"""`start_pool`: a run that outlives runs and whose nodes many workflows share; `pool_status`; `stop_pool`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from headway.api.answers import Answer
from headway.api.growing import start_or_go_on
from headway.api.members import share_pool
from headway.api.run_result import RunResult, ended
from headway.api.settings import RunSettings, settings_for
from headway.drivers.real import Observer
from headway.drivers.run_history import Warn, warn_program
from headway.model.errors import InputError, SiteError
from headway.model.resources import Resources
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary
from headway.serving.pool_server import PoolServer
from headway.workers import protocol
from headway.workers.pool_place import DEFAULT, PoolPlace, PoolRefusedError

_NAME = "pool"


class PoolMember(Answer, frozen=True):
    """A workflow that uses a pool: what of it waits and runs there, and what that holds."""

    name: str
    user: str
    directory: str
    run: str
    at_work: bool  # whether its manager is; without one, what it handed over still runs
    waiting: int
    running: int
    cores: float
    memory_bytes: int


class PoolStatus(Answer, frozen=True):
    """A pool: its manager, the nodes that it holds, what is in use, and by whom."""

    name: str
    directory: Path
    run: str
    manager_pid: int
    cluster: str
    nodes: int
    cores: float
    memory_bytes: int
    cores_used: float
    memory_bytes_used: int
    draining: bool
    members: list[PoolMember]


class PoolStopped(Answer, frozen=True):
    """A pool that was told to stop."""

    name: str
    message: str


def start_pool(
    name: str = DEFAULT,
    settings: RunSettings | None = None,
    *,
    idle_s: float | None = None,
    group: str | None = None,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    warn: Warn = warn_program,
) -> RunResult:
    """Run what workflows hand to the pool of that name until it is told to stop; return how the pool's run ended.

    It goes on with the pool's last run if that was stopped or killed: then the settings of that run count. With
    `idle_s`, it ends when no workflow has used it for that time.

    Members (`headway.api.members`) reach it on this host through a `group`; None: that of the last start.
    """
    place = PoolPlace.of(name)
    where = place.directory
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SiteError(f"cannot make the pool's directory: {error.strerror}", where=str(where)) from error
    settings = settings or settings_for(where)
    if settings.pool:
        raise InputError("a pool cannot run in a pool", where="--pool", todo="leave it out")
    shared_with = share_pool(name, where, group)
    server = PoolServer(where, idle_s, shared_with)
    progress = progress or Progress(RunSummary())
    over = False
    # What tasks of a shared pool make, its members can read and delete: it belongs to a group of both.
    umask = None if shared_with is None else os.umask(0o007)
    try:
        state = start_or_go_on(_NAME, where, settings, server, progress, observers, warn)
        over = state != "stopped"
    finally:
        if umask is not None:
            os.umask(umask)
        server.close("", ended=over)
    return ended(server.known_folder, progress, settings)


def pool_status(name: str = DEFAULT) -> PoolStatus:
    """Return who uses what of a pool."""
    place = PoolPlace.of(name)
    told = place.told()
    used = sum((member.held for member in told.members), Resources())
    return PoolStatus(
        name=name,
        directory=place.directory,
        run=told.run,
        manager_pid=told.pid,
        cluster=told.cluster,
        nodes=told.nodes,
        cores=told.has.cores,
        memory_bytes=told.has.memory_bytes,
        cores_used=used.cores,
        memory_bytes_used=used.memory_bytes,
        draining=told.draining,
        members=[_member(member) for member in told.members],
    )


def _member(member: protocol.Member) -> PoolMember:
    return PoolMember(
        name=member.name,
        user=member.user,
        directory=member.directory,
        run=member.number,
        at_work=member.connected,
        waiting=member.waiting,
        running=member.running,
        cores=member.held.cores,
        memory_bytes=member.held.memory_bytes,
    )


def stop_pool(name: str = DEFAULT, *, now: bool = False, wait: bool = True) -> PoolStopped:
    """Let a pool take no more workflows and, when the last has ended, end; or stop it and what it runs `now`."""
    place = PoolPlace.of(name)
    with place.connect() as connection:
        connection.settimeout(None)
        connection.sendall(protocol.encode(protocol.Drain(now)))
        answer = place.answer(connection)
        if isinstance(answer, protocol.Refused):
            raise PoolRefusedError(answer.what)
        try:
            while wait and connection.recv(4096):
                pass
        except ConnectionError:  # it has hung up
            pass
    if not wait:
        return PoolStopped(name, f"the pool {name!r} was told to stop")
    goes_on = f"; `{place.start}` goes on with it" if place.exists else ""
    return PoolStopped(name, f"the pool {name!r} has stopped{goes_on}")
