"""The command line that a container runtime gets. The runtimes themselves are not run by these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.model.errors import SiteError
from headway.model.task import Task
from headway.workers.containers import RUNTIMES, in_container

WORK, FLOW = Path("/flow/.headway/runs/1/tasks/t/1/work"), Path("/flow")
TASK = Task("t", "t", "true", environment={"COLOUR": "blue"}, container="image:1")


def runtimes(directory: Path, *names: str) -> str:
    for name in names:
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)
    return str(directory)


@pytest.mark.parametrize("runtime", ["apptainer", "singularity"])
def test_apptainer(runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", runtimes(tmp_path, runtime))
    assert in_container(TASK, ["sh", "-c", "x"], WORK, FLOW) == [
        runtime, "exec", f"--bind={FLOW}", f"--bind={WORK}", f"--pwd={WORK}", "image:1", "sh", "-c", "x",
    ]  # fmt: skip


@pytest.mark.parametrize("runtime", ["podman", "docker"])
def test_docker(runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", runtimes(tmp_path, runtime))
    assert in_container(TASK, ["sh", "-c", "x"], FLOW, FLOW) == [
        runtime, "run", "--rm", f"--volume={FLOW}:{FLOW}", "--env=COLOUR", f"--workdir={FLOW}", "--entrypoint=",
        "image:1", "sh", "-c", "x",
    ]  # fmt: skip


def test_the_first_installed_runtime_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", runtimes(tmp_path, *RUNTIMES))
    assert in_container(TASK, ["x"], WORK, FLOW)[0] == "apptainer"


def test_no_runtime_is_a_site_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SiteError, match=r"needs the container image:1.*none of apptainer"):
        in_container(TASK, ["x"], WORK, FLOW)
