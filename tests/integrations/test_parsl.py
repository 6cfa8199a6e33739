"""`HeadwayExecutor` under a real Parsl: apps, errors, resources, the end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("parsl")

import parsl
from parsl.app.errors import BashExitFailure
from parsl.config import Config
from parsl.executors.errors import InvalidResourceSpecification

import headway
from headway.integrations.parsl import HeadwayExecutor


@parsl.python_app
def square(number: int) -> int:
    return number * number


@parsl.python_app
def fail(text: str) -> None:
    raise KeyError(text)


@parsl.python_app
def grow(mebibytes: int, parsl_resource_specification: dict[str, Any] = {"memory": 60}) -> int:  # noqa: B006
    data = bytearray(mebibytes * 2**20)
    data[::4096] = bytes(len(data[::4096]) * [1])
    return len(data) // 2**20


@parsl.python_app
def sleep_for_ever(marker: str, parsl_resource_specification: dict[str, Any] = {}) -> None:  # noqa: B006
    import os
    import time

    with open(marker, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(1000)


@parsl.bash_app
def echo(text: str, stdout: str | None = None) -> str:
    return f"echo {text}"


@parsl.bash_app
def leave(code: int) -> str:
    return f"exit {code}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("parsl")
    executor = HeadwayExecutor(directory=place, cores=2, memory="1 GB", fresh=True)
    parsl.load(Config(executors=[executor], initialize_logging=False, run_dir=str(place / "runinfo")))
    yield place
    parsl.dfk().cleanup()
    parsl.clear()


def test_python_apps(place: Path) -> None:
    assert square(square(3)).result() == 81
    assert [future.result() for future in [square(number) for number in range(100)]] == [n * n for n in range(100)]


def test_bash_apps(place: Path) -> None:
    out = place / "out.txt"
    assert echo("hello", stdout=str(out)).result() == 0
    assert out.read_text() == "hello\n"


def test_errors_come_through(place: Path) -> None:
    with pytest.raises(KeyError, match="no such key"):
        fail("no such key").result()
    with pytest.raises(BashExitFailure) as failed:
        leave(3).result()
    assert failed.value.exitcode == 3


def test_an_app_that_outgrows_its_memory_is_made_again_with_more(place: Path) -> None:
    assert grow(600).result() == 600
    assert headway.why("grow.worker", directory=place).document()["attempts"][0]["ending"] == "memory"


def test_resources_are_parsls(place: Path) -> None:
    with pytest.raises(InvalidResourceSpecification, match="Headway knows cores, disk"):
        square(2, parsl_resource_specification={"knights": 2}).result()
    with pytest.raises(headway.TaskError, match="1 s"):
        sleep_for_ever(str(place / "limited"), parsl_resource_specification={"running_time_max": 1}).result()


def test_the_end_leaves_nothing(tmp_path: Path) -> None:
    """Parsl's own executors stop what runs when their kernel is cleaned up."""
    marker = tmp_path / "started"
    config = Config(executors=[HeadwayExecutor(fresh=True)], initialize_logging=False, run_dir=str(tmp_path))
    kernel = parsl.DataFlowKernel(config)
    app = parsl.python_app(sleep_for_ever.func.__wrapped__, data_flow_kernel=kernel)
    future = app(str(marker))
    while not marker.exists() or not marker.read_text():
        time.sleep(0.02)
    kernel.cleanup()
    assert isinstance(future.exception(), headway.TaskError)
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), signal.SIG_DFL)
