"""A supervisor that gets a signal, alone or with its tasks: tasks that fail then are not at fault."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

pytest.importorskip("psutil")

import psutil

from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol, runner
from headway.workers.attempt import AttemptFolder
from headway.workers.connection import Connection
from headway.workers.socket_connection import SocketConnection
from tests.workers.loads import Bench, on_bench

PATIENCE_S = 120.0
ROOM = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9)
# A shell exits with 143 when its command is ended by SIGTERM; so do many programs themselves.
WAITS = 'echo $$ > "$PIDS"; sleep 600'
CATCHES = 'trap "exit 143" TERM; echo $$ > "$PIDS"; while :; do sleep 0.05; done'


class Job:
    """A supervisor with one attempt running."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.folder = directory / "job"
        self.folder.mkdir(mode=0o700)
        self.attempt = directory / "attempt"
        self.pids = directory / "pids"
        protocol.SupervisorSettings(
            secrets.token_hex(6), "t-1", "n1", str(directory), linger_s=600.0, grace_s=1.0
        ).write(self.folder)
        words = [sys.executable, "-P", "-m", "headway.workers.supervisor", str(self.folder)]
        self.process = subprocess.Popen(words)
        self.connection: Connection | None = None

    async def start(self, command: str, limits: Resources = ROOM) -> int:
        """Start the attempt and return the process id of its command."""
        self.connection = await SocketConnection.open(self.folder, PATIENCE_S)
        assert self.connection is not None
        task = Task("t", "c", command, environment={"PIDS": str(self.pids)})
        self.connection.send(protocol.Start(task, 1, str(self.attempt), limits))
        while not (self.pids.exists() and self.pids.read_text()):
            await asyncio.sleep(0.01)
        return int(self.pids.read_text())

    async def left_behind(self) -> Outcome:
        """Return the result on disk after the supervisor has ended without sending the outcome."""
        assert self.connection is not None
        assert await self.connection.receive() is None
        assert await asyncio.to_thread(self.process.wait, PATIENCE_S) == 0
        outcome = AttemptFolder(self.attempt).result()
        assert outcome is not None
        return outcome

    async def outcome(self) -> Outcome:
        """Return the outcome that the supervisor sends; it keeps running."""
        assert self.connection is not None
        message = await self.connection.receive()
        assert isinstance(message, protocol.Ended)
        return message.outcome


def drive(directory: Path, work: Callable[[Job], Awaitable[None]]) -> None:
    job = Job(directory)

    async def within() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await work(job)

    try:
        asyncio.run(within())
    finally:
        job.process.terminate()
        job.process.wait(PATIENCE_S)


@pytest.mark.parametrize("command", [WAITS, CATCHES], ids=["waits", "catches"])
@pytest.mark.parametrize("order", ["supervisor", "task first", "supervisor first", "everything"])
def test_a_task_that_is_signalled_with_its_supervisor_is_cancelled(tmp_path: Path, order: str, command: str) -> None:
    """A batch system signals all processes of a job, in any order, also the spawner."""

    async def work(job: Job) -> None:
        task = await job.start(command)
        below = [process.pid for process in psutil.Process(job.process.pid).children(recursive=True)]
        assert task in below
        signalled = {
            "supervisor": [job.process.pid],
            "task first": [task, job.process.pid],
            "supervisor first": [job.process.pid, task],
            "everything": [*below, job.process.pid],
        }
        for pid in signalled[order]:
            with contextlib.suppress(ProcessLookupError):  # its supervisor may have ended the task already
                os.kill(pid, signal.SIGTERM)
        assert (await job.left_behind()).ending is Ending.CANCELLED

    drive(tmp_path, work)


@pytest.mark.parametrize("command", [WAITS, CATCHES], ids=["waits", "catches"])
@pytest.mark.parametrize("signal_first", [True, False], ids=["signalled", "not yet signalled"])
def test_a_task_that_is_signalled_before_its_supervisor_is_cancelled_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, signal_first: bool
) -> None:
    """The task got the signal before the supervisor had stopped it, or before the supervisor got the signal itself."""
    monkeypatch.setattr(runner, "_SIGNAL_WITHIN_S", PATIENCE_S)

    async def work(bench: Bench) -> None:
        stop_signalled, pids, attempt = asyncio.Event(), tmp_path / "pids", AttemptFolder(tmp_path / "attempt")
        settings = protocol.SupervisorSettings(str(tmp_path), "t-1", "n1", str(tmp_path), linger_s=600.0, grace_s=1.0)
        task = Task("t", "c", command, environment={"PIDS": str(pids)})
        running = asyncio.create_task(
            runner.Runner(settings, bench.trees, stop_signalled).run(protocol.Start(task, 1, str(attempt.path), ROOM))
        )
        while not (pids.exists() and pids.read_text()):
            await asyncio.sleep(0.01)
        if signal_first:
            stop_signalled.set()
        os.kill(int(pids.read_text()), signal.SIGTERM)
        if not signal_first:
            while psutil.pid_exists(int(pids.read_text())):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)  # the runner knows by now how the command has ended, and waits
            assert attempt.result() is None
            stop_signalled.set()
        assert (await running).ending is Ending.CANCELLED

    on_bench("polling", tmp_path, work)


@pytest.mark.parametrize(
    ("command", "ending"), [(WAITS, Ending.SIGNAL), (CATCHES, Ending.EXIT_CODE)], ids=["waits", "catches"]
)
def test_a_task_that_is_signalled_alone_has_failed(tmp_path: Path, command: str, ending: Ending) -> None:
    """The supervisor waits a moment for a signal of its own, and gets none."""

    async def work(job: Job) -> None:
        os.kill(await job.start(command), signal.SIGTERM)
        assert (await job.outcome()).ending is ending

    drive(tmp_path, work)


def test_a_task_over_its_limit_keeps_that_ending_when_the_job_is_signalled(tmp_path: Path) -> None:
    """The job gets the signal while the task is being stopped for its time limit: the task still needs more time."""

    async def work(job: Job) -> None:
        stopping = job.directory / "stopping"
        command = f'trap "echo > {stopping}" TERM; echo $$ > "$PIDS"; while :; do sleep 0.05 || :; done'
        await job.start(command, ROOM.replace(walltime_s=0.5))
        while not stopping.exists():
            await asyncio.sleep(0.01)
        job.process.terminate()
        assert (await job.left_behind()).ending is Ending.TIME

    drive(tmp_path, work)


@pytest.mark.parametrize(("inodes", "again"), [(3, Ending.SUCCESS), (4, Ending.NODE_LOST)], ids=["claim", "output"])
def test_a_disk_without_room_for_a_tasks_output_is_not_the_tasks_fault(
    tmp_path: Path, inodes: int, again: Ending
) -> None:
    """The file system has no inode left for claiming the attempt, or for its standard output."""
    place = tmp_path / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size=1m,nr_inodes={inodes}", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs permission to mount a small file system")

    async def work(bench: Bench) -> None:
        settings = protocol.SupervisorSettings(str(tmp_path), "t-1", "n1", str(tmp_path), linger_s=600.0, grace_s=1.0)
        start = protocol.Start(Task("t", "c", "true"), 1, str(place / "t" / "1"), ROOM)
        running = runner.Runner(settings, bench.trees, asyncio.Event())
        with pytest.raises(OSError, match="No space left on device"):
            await running.run(start)
        subprocess.run(["mount", "-o", "remount,nr_inodes=100", str(place)], check=True)
        assert (await running.run(start)).ending is again  # a lost one spends no retry; its next attempt:
        later = structs.replace(start, attempt=2, directory=str(place / "t" / "2"))
        assert (await running.run(later)).ending is Ending.SUCCESS

    try:
        on_bench("polling", tmp_path, work)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def test_a_success_before_the_signal_stands(tmp_path: Path) -> None:
    async def work(job: Job) -> None:
        await job.start('echo $$ > "$PIDS"')
        while AttemptFolder(job.attempt).result() is None:
            await asyncio.sleep(0.01)
        job.process.terminate()
        await asyncio.to_thread(job.process.wait, PATIENCE_S)
        outcome = AttemptFolder(job.attempt).result()
        assert outcome is not None
        assert outcome.ending is Ending.SUCCESS

    drive(tmp_path, work)


def test_a_supervisor_ignores_sighup(tmp_path: Path) -> None:
    async def work(job: Job) -> None:
        await job.start('echo $$ > "$PIDS"; sleep 0.5')
        job.process.send_signal(signal.SIGHUP)
        assert (await job.outcome()).ending is Ending.SUCCESS
        assert job.process.poll() is None

    drive(tmp_path, work)
