"""A service for as long as another tool works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.api.exec import execute
from headway.api.hosting import hosted
from headway.model.errors import HeadwayError
from headway.serving.client import Call, ServiceError


def pids_in(directory: Path) -> list[int]:
    """The processes that work in a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")) == directory.resolve():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_a_service_works_for_as_long_as_the_tool(tmp_path: Path) -> None:
    with hosted(tmp_path) as place:
        assert execute(["echo", "one"], place).stdout == "one\n"
        with hosted(tmp_path) as same:
            assert same == place
        assert execute(["echo", "two"], place).stdout == "two\n"  # the inner one did not end it
    assert not pids_in(tmp_path)
    with pytest.raises(ServiceError, match="service"):
        Call({"argv": ["true"]}, place, print).run()


def test_an_error_of_the_tool_ends_commands_that_would_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    class OurOwnError(Exception):
        pass

    with pytest.raises(OurOwnError), hosted(tmp_path) as place:
        begun = tmp_path / "begun"
        os.mkfifo(begun)
        command = ("sh", "-c", "echo > begun; exec sleep 1000")
        client = subprocess.Popen(
            [sys.executable, "-P", "-m", "headway", "exec", "--in", place, "--keep", "--", *command]
        )
        begun.read_text()
        raise OurOwnError
    assert client.wait() == 125
    assert pids_in(tmp_path) == [os.getpid()]


def test_a_service_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(HeadwayError, match=r"^--on: there is no cluster called 'mars'"),
        hosted(tmp_path, ["--on", "mars"]),
    ):
        pytest.fail("there is no such service")
