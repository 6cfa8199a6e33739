"""The log of a supervisor: what is in it at each level, and that its level does not reach tasks."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.log_setup import LEVEL_VARIABLE, set_up_logging
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.socket_connection import SocketConnection

PATIENCE_S = 120.0


def log_of_a_job(directory: Path, level: str) -> str:
    """Run a task that exceeds its walltime, and one that prints its environment; return the supervisor's log."""
    folder = directory / "job"
    folder.mkdir()
    settings = protocol.SupervisorSettings(secrets.token_hex(6), "t-1", "n1", str(directory), 600.0, 1.0)
    settings.write(folder)

    async def work() -> None:
        connection = await SocketConnection.open(folder, PATIENCE_S)
        assert connection is not None
        tasks = {"slow": ("sleep 600", 0.2), "env": (f"env > {directory}/environment", None)}
        for name, (command, walltime_s) in tasks.items():
            limits = Resources(cores=1, walltime_s=walltime_s)
            connection.send(protocol.Start(Task(name, "c", command), 1, str(directory / name), limits))
        for _ in tasks:
            assert isinstance(await connection.receive(), protocol.Ended)
        connection.send(protocol.Leave())
        await connection.flush()
        connection.close()

    with (folder / "log").open("wb") as log:
        argv = [sys.executable, "-P", "-m", "headway.workers.supervisor", str(folder)]
        process = subprocess.Popen(argv, stderr=log, env=os.environ | {LEVEL_VARIABLE: level})
    try:
        asyncio.run(asyncio.wait_for(work(), PATIENCE_S))
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    return (folder / "log").read_text()


def test_info_holds_attempts_limits_and_connections(tmp_path: Path) -> None:
    log = log_of_a_job(tmp_path, "info")
    for text in (
        "supervising job t-1 on n1",
        "a manager connected",
        "attempt slow/1 starts",
        "slow/1: stopping, cause: time",
        "attempt slow/1 ended: time",
        "attempt env/1 ended: success",
        "the manager has no more work: leaving",
    ):
        assert text in log
    assert "DEBUG" not in log
    assert LEVEL_VARIABLE not in (tmp_path / "environment").read_text()


def test_debug_holds_samples_and_warning_none_of_it(tmp_path: Path) -> None:
    for level in ("debug", "warning"):
        (tmp_path / level).mkdir()
    assert "sampled 1 of 1 trees" in log_of_a_job(tmp_path / "debug", "debug")
    assert log_of_a_job(tmp_path / "warning", "warning") == ""


@pytest.fixture
def headway_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("headway")
    before = logger.level, logger.propagate, list(logger.handlers)
    yield logger
    logger.setLevel(before[0])
    logger.propagate = before[1]
    logger.handlers[:] = before[2]


def test_a_stated_level_is_inherited_by_processes(
    headway_logger: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LEVEL_VARIABLE, raising=False)
    set_up_logging(file=tmp_path / "log")
    assert headway_logger.level == logging.WARNING
    assert LEVEL_VARIABLE not in os.environ
    monkeypatch.setenv(LEVEL_VARIABLE, "error")
    set_up_logging(file=tmp_path / "log")
    assert headway_logger.level == logging.ERROR
    set_up_logging("info", tmp_path / "log")
    assert (headway_logger.level, os.environ[LEVEL_VARIABLE]) == (logging.INFO, "info")
    logging.getLogger("headway.workers").info("a message")
    assert "INFO" in (tmp_path / "log").read_text()
