"""What a supervisor does with messages that are repeated, and what it repeats itself."""

from __future__ import annotations

import os
from pathlib import Path

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.connection import Connection
from headway.workers.socket_connection import SocketConnection
from headway.workers.supervisor import take_job
from tests.workers.test_supervisor_signals import PATIENCE_S, ROOM, Job, drive


async def connected(job: Job) -> Connection:
    connection = await SocketConnection.open(job.folder, PATIENCE_S)
    assert connection is not None
    return connection


def start(job: Job, name: str, command: str = "true") -> protocol.Start:
    return protocol.Start(Task(name, "c", command), 1, str(job.directory / "tasks" / name / "1"), ROOM)


async def end(connection: Connection) -> Outcome:
    message = await connection.receive()
    assert isinstance(message, protocol.Ended), message
    return message.outcome


def test_an_end_is_sent_again_until_it_is_acknowledged(tmp_path: Path) -> None:
    async def work(job: Job) -> None:
        first = await connected(job)
        first.send(start(job, "a"))
        assert (await end(first)).task == "a"
        second = await connected(job)
        second.send(start(job, "b"))
        for name in ("a", "b"):
            assert (await end(second)).task == name
        second.send(protocol.Noted([("a", 1), ("b", 1)]))
        second.send(start(job, "c"))
        assert (await end(second)).task == "c", "what was sent before is handled before"
        third = await connected(job)
        third.send(start(job, "d"))
        for name in ("c", "d"):
            assert (await end(third)).task == name

    drive(tmp_path, work)


def test_a_start_that_is_repeated_while_the_command_runs_changes_nothing(tmp_path: Path) -> None:
    async def work(job: Job) -> None:
        connection, may_end = await connected(job), tmp_path / "may end"
        waits = start(job, "a", f"echo began >> began; until test -e '{may_end}'; do sleep 0.01; done")
        connection.send(waits)
        connection.send(waits)
        connection.send(start(job, "b"))
        assert (await end(connection)).task == "b"
        may_end.touch()
        outcome = await end(connection)
        assert (outcome.task, outcome.ending) == ("a", Ending.SUCCESS)
        assert (tmp_path / "began").read_text() == "began\n"

    drive(tmp_path, work)


def test_a_job_is_served_once(tmp_path: Path) -> None:
    """A supervisor that is slow to start does not take up a job that another one has or had."""
    served = take_job(tmp_path)
    assert served is not None
    assert take_job(tmp_path) is None
    os.close(served)
    assert take_job(tmp_path) is None
