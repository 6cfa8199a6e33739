"""The command line that a container runtime gets. Whole runs through it: tests/end_to_end/test_containers.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.model.errors import SiteError
from headway.model.resources import Resources
from headway.model.task import Task
from headway.workers.containers import RUNTIMES, Contained, find_runtime, image_name, in_container
from headway.workers.sandbox import prepare_directory
from headway.workers.sources import Sources

FLOW = Path("/flow")
FOLDER = FLOW / ".headway/runs/1/tasks/t"
WORK = FOLDER / "1/work"
TASK = Task("t", "t", "true", container="image:1")
ANSWER = "#!/bin/sh\necho '{answer}'\n"


def put(directory: Path, *names: str, answer: str = "[cpu memory]") -> str:
    for name in names:
        (directory / name).write_text(ANSWER.format(answer=answer))
        (directory / name).chmod(0o755)
    return str(directory)


def contained(
    task: Task = TASK, limits: Resources | None = None, devices: tuple[str, ...] = (), **environment: str
) -> Contained:
    limits, where = limits or Resources(), {"work": WORK, "task_folder": FOLDER, "workflow_directory": FLOW}
    return in_container(task, ["x"], environment, limits, key="k", **where, devices=devices)


@pytest.mark.parametrize("runtime", ["apptainer", "singularity"])
def test_apptainer(runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put(tmp_path, runtime))
    command = contained(limits=Resources(cores=1, memory_bytes=10**9, gpus=1), COLOUR="blue, green")
    assert command.argv == [
        f"{tmp_path}/{runtime}", "exec", f"--bind={FLOW}:{FLOW}:rw", f"--pwd={WORK}", "--nv", "docker://image:1", "x",
    ]  # fmt: skip
    assert command.environment == {f"{runtime.upper()}ENV_COLOUR": "blue, green"}
    assert not command.removal
    assert not command.limits_memory


@pytest.mark.parametrize("runtime", ["podman", "docker"])
@pytest.mark.parametrize("uid", [0, 1234])
def test_docker_and_podman(runtime: str, uid: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put(tmp_path, runtime))
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "getegid", lambda: 55)
    command = contained(limits=Resources(cores=0.5, memory_bytes=10**9, gpus=1), COLOUR="blue", PATH="/inside")
    program, verb, *flags, image, word = command.argv
    assert (program, verb, image, word) == (f"{tmp_path}/{runtime}", "run", "image:1", "x")
    (name,) = [flag.partition("=")[2] for flag in flags if flag.startswith("--name=")]
    own_user = ["--userns=keep-id"] if runtime == "podman" and uid else []
    assert [flag for flag in flags if flag != "--init"] == [
        "--rm", f"--name={name}", *own_user, f"--user={uid}:55", *(["--env=HOME=/tmp"] if uid else []),
        f"--volume={FLOW}:{FLOW}", "--security-opt=label=disable", "--env=HEADWAY_ATTEMPT", "--env=COLOUR",
        "--env=PATH=/inside", "--env=CUDA_VISIBLE_DEVICES", "--memory=1024194304", "--memory-swap=1024194304",
        "--cpus=0.5", "--gpus=all" if runtime == "docker" else "--device=nvidia.com/gpu=all", f"--workdir={WORK}",
        "--entrypoint=",
    ]  # fmt: skip
    assert command.environment == {"COLOUR": "blue"}
    assert command.removal == (program, "rm", "--force", name)
    assert command.limits_memory


def test_a_container_gets_the_gpus_of_its_task_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Resources(cores=1, memory_bytes=10**9, gpus=2)
    monkeypatch.setenv("PATH", put(tmp_path, "docker"))
    command = contained(limits=limits, devices=("GPU-a", "GPU-b"), CUDA_VISIBLE_DEVICES="GPU-a,GPU-b")
    assert '--gpus="device=GPU-a,GPU-b"' in command.argv
    assert command.environment == {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}
    numbered = contained(limits=limits, devices=("2", "3"), CUDA_VISIBLE_DEVICES="2,3")
    assert '--gpus="device=2,3"' in numbered.argv
    assert numbered.environment == {"CUDA_VISIBLE_DEVICES": "0,1"}  # inside there are no others
    (tmp_path / "docker").unlink()
    monkeypatch.setenv("PATH", put(tmp_path, "podman"))
    command = contained(limits=limits, devices=("GPU-a", "GPU-b"))
    assert [flag for flag in command.argv if "nvidia" in flag] == [
        "--device=nvidia.com/gpu=GPU-a",
        "--device=nvidia.com/gpu=GPU-b",
    ]


def test_limits_that_podman_would_refuse_are_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put(tmp_path, "podman", answer="[pids]"))
    command = contained(limits=Resources(cores=2, memory_bytes=10**9))
    assert not [flag for flag in command.argv if flag.startswith(("--memory", "--cpus"))]
    assert not command.limits_memory


def test_rootless_docker_runs_as_root_which_is_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put(tmp_path, "docker", answer="[name=seccomp name=rootless]"))
    assert not [flag for flag in contained().argv if flag.startswith("--user")]


def test_inputs_elsewhere_are_mounted_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", put(tmp_path / "bin", "docker"))
    data = tmp_path / "da:ta"
    data.mkdir()
    (data / "a.fq").touch()
    (tmp_path / "plain").touch()
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    inputs = (f"{data}/*.fq", f"{tmp_path}/link", f"{tmp_path}/loop", f"{tmp_path}/none", "inside")
    task = Task("t", "t", "true", container="image:1", inputs=inputs)
    flags = [flag for flag in contained(task).argv if flag.startswith(("--volume", "--mount"))]
    assert flags[0] == f"--mount=type=bind,source={data},destination={data},readonly"
    assert f"--volume={tmp_path}/link:{tmp_path}/link:ro" in flags
    assert f"--volume={tmp_path}/plain:{tmp_path}/plain:ro" in flags
    assert not [flag for flag in flags if "none" in flag]
    assert flags[-1] == f"--volume={FLOW}:{FLOW}"


@pytest.mark.parametrize(
    ("runtime", "image", "name"),
    [
        ("docker", "docker://alpine:3", "alpine:3"),
        ("docker", "alpine:3", "alpine:3"),
        ("docker", "docker://quay.io/x/y:1", "quay.io/x/y:1"),
        ("podman", "docker://alpine:3", "docker.io/library/alpine:3"),
        ("podman", "docker://x/y", "docker.io/x/y"),
        ("podman", "docker://quay.io/x/y:1", "quay.io/x/y:1"),
        ("podman", "docker://localhost/y", "localhost/y"),
        ("podman", "alpine:3", "alpine:3"),
        ("apptainer", "alpine:3", "docker://alpine:3"),
        ("apptainer", "docker://alpine:3", "docker://alpine:3"),
        ("apptainer", "oras://ghcr.io/x/y", "oras://ghcr.io/x/y"),
        ("apptainer", "tool.sif", "/flow/tool.sif"),
        ("singularity", "/images/tool.sif", "/images/tool.sif"),
    ],
)
def test_an_images_name_for_each_runtime(runtime: str, image: str, name: str) -> None:
    assert image_name(runtime, image, FLOW) == name


@pytest.mark.parametrize("image", ["tool.sif", "./tool", "library://x"])
def test_docker_cannot_run_apptainers_images(image: str) -> None:
    with pytest.raises(SiteError, match="docker cannot run the image"):
        image_name("/usr/bin/docker", image, FLOW)


def test_which_runtime_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put(tmp_path, *RUNTIMES))
    assert find_runtime() == f"{tmp_path}/apptainer"
    monkeypatch.setenv("HEADWAY_CONTAINER_RUNTIME", "docker")
    assert find_runtime() == f"{tmp_path}/docker"
    (tmp_path / "docker").unlink()
    with pytest.raises(SiteError, match="no docker, which HEADWAY_CONTAINER_RUNTIME asks for"):
        find_runtime()


def test_no_runtime_is_a_site_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SiteError, match=r"needs the container image:1.*none of apptainer"):
        contained()


def test_a_strict_task_gets_its_inputs_instead_of_the_workflow_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", put(tmp_path / "bin", "docker"))
    flow, folder = tmp_path / "flow", tmp_path / "flow/.headway/t"
    (folder / "1").mkdir(parents=True)
    for name in ("large.bam", "hidden"):
        (flow / name).write_bytes(b"x" * 300_000)
    (tmp_path / "ref").touch()
    (flow / "script").write_text("echo")
    inputs = ("large.bam", "script", f"{tmp_path}/ref")
    task = Task("t", "t", "true", container="image:1", inputs=inputs, outputs=("o",), strict=True)
    prepare_directory(folder / "1/work", task, flow, Sources(flow))
    where = {"work": folder / "1/work", "task_folder": folder, "workflow_directory": flow}
    command = in_container(task, ["x"], {}, Resources(), key="k", **where)
    assert [flag for flag in command.argv if flag.startswith("--volume")] == [
        f"--volume={flow}/large.bam:{flow}/large.bam:ro",
        f"--volume={tmp_path}/ref:{tmp_path}/ref:ro",
        f"--volume={folder}:{folder}",
    ]
