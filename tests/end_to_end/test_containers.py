"""Tasks in containers: through a stand-in for each runtime, and through a real Podman where it can run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headway.model.records import TaskEnded
from headway.workers.containers import RUNTIMES
from tests.end_to_end.container_runtimes import IMAGE, StandIn, podman
from tests.end_to_end.project import Flow, wait_until

__all__ = ["podman"]

pytestmark = pytest.mark.xdist_group("podman")  # all containers of one user are in one list

COUNT = """
name: boxes
tasks:
  count:
    container: {image}
    env: {{COLOUR: "blue, green", HOME: /nowhere}}
    run: |
      printf '%s|' "$COLOUR" "$HOME" "$HEADWAY_TASK" "$HEADWAY_CORES" > out.txt
      cat "{outside}" link.txt >> out.txt
    inputs: ["{outside}", link.txt]
    outputs: out.txt
    resources: {{cores: 1, memory: 100 MB}}
    limit: {{memory: 100 MB}}
"""


def outside(tmp_path: Path) -> Path:
    """A file outside the workflow's directory, also linked from inside it."""
    elsewhere = tmp_path / "other: place"
    elsewhere.mkdir()
    (elsewhere / "far.txt").write_text("far\n")
    (elsewhere / "linked.txt").write_text("linked\n")
    (tmp_path / "flow").mkdir()
    (tmp_path / "flow" / "link.txt").symlink_to(elsewhere / "linked.txt")
    return elsewhere / "far.txt"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_run_through_every_runtime(runtime: str, tmp_path: Path) -> None:
    far = outside(tmp_path)
    stand_in = StandIn(tmp_path / "bin", runtime)
    flow = Flow(tmp_path / "flow", COUNT.format(image="docker://alpine:3", outside=far))
    flow.headway("run", PATH=stand_in.path, HEADWAY_CONTAINER_RUNTIME=runtime)
    assert (flow.directory / "out.txt").read_text() == "blue, green|/nowhere|count|1|far\nlinked\n"
    (call,) = stand_in.calls("exec" if runtime in ("apptainer", "singularity") else "run")
    assert call["environment"]["HOME"] == os.environ["HOME"]  # the runtime's own: its images lie there
    words = " ".join(call["argv"])
    assert f"{far}" in words
    assert f"{far.parent}/linked.txt" in words
    if runtime in ("apptainer", "singularity"):
        assert " docker://alpine:3 " in words
    else:
        assert f" --user={os.geteuid()}:{os.getegid()} " in words
        assert " --memory=106194304 " in words  # 2 % and 4 MiB more, for the kernel's own memory
        assert " --cpus=1 " in words
        assert (" docker.io/library/alpine:3 " if runtime == "podman" else " alpine:3 ") in words


def test_an_interpreters_program_is_seen_inside(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin", "docker")
    (tmp_path / "flow").mkdir()
    flow = Flow(
        tmp_path / "flow",
        "name: w\ntasks:\n  a:\n    container: python:3\n    shell: python3\n    run: open('out','w').write('x')\n"
        "    outputs: out\n",
    )
    flow.headway("run", PATH=stand_in.path, HEADWAY_CONTAINER_RUNTIME="docker")
    (call,) = stand_in.calls("run")
    assert f"--volume={flow.directory}:{flow.directory}" in call["argv"]
    assert call["argv"][-1].startswith(f"{flow.directory}/.headway/")


def test_a_container_that_its_runtime_killed_gets_more_than_it_could_use(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin", "docker")
    (tmp_path / "flow").mkdir()
    text = "name: w\ntasks:\n  a: {container: alpine, run: exit 137, resources: {cores: 1, memory: 10 MB}}\n"
    flow = Flow(tmp_path / "flow", text)
    chosen = {"PATH": stand_in.path, "HEADWAY_CONTAINER_RUNTIME": "docker"}
    flow.headway("run", "--cores", "2", "--memory", "400MB", code=1, **chosen)
    allowed = [(launch.ceiling or launch.resources).memory_bytes for launch in flow.launches()]
    assert allowed[0] == 200_000_000  # half of the machine, as of its cores
    assert allowed == sorted(set(allowed)) and len(allowed) > 1
    assert "all tasks together" not in flow.headway("why", "a").stdout


def test_docker_without_its_daemon_is_said_in_one_sentence(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin", "docker", no_daemon=True)
    (tmp_path / "flow").mkdir()
    flow = Flow(tmp_path / "flow", "name: w\ntasks:\n  a: {container: alpine, run: 'true'}\n")
    flow.headway("run", code=1, PATH=stand_in.path, HEADWAY_CONTAINER_RUNTIME="docker")
    story = flow.headway("why", "a").stdout
    assert "docker does not work: Cannot connect to the Docker daemon" in " ".join(story.split())
    done = flow.headway("doctor", PATH=stand_in.path, HEADWAY_CONTAINER_RUNTIME="docker")
    assert "warn  containers" in done.stdout
    assert "Cannot connect to the Docker daemon" in " ".join(done.stdout.split())


def test_an_unknown_runtime_is_said_in_one_sentence(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "name: w\ntasks:\n  a: {container: alpine, run: 'true'}\n")
    done = flow.headway("doctor", HEADWAY_CONTAINER_RUNTIME="rkt")
    assert "HEADWAY_CONTAINER_RUNTIME is 'rkt'" in " ".join(done.stdout.split())


def test_doctor_starts_a_container(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin", "docker")
    flow = Flow(tmp_path, "name: w\ntasks:\n  a: {run: 'true'}\n")
    chosen = {"PATH": stand_in.path, "HEADWAY_CONTAINER_RUNTIME": "docker"}
    done = flow.headway("doctor", "--container", "docker://alpine:3", **chosen)
    assert "started a container of docker://alpine:3" in " ".join(done.stdout.split())
    assert stand_in.calls("run")[0]["argv"][-2:] == ["alpine:3", "true"]


# --- a real runtime ---


def left(podman: dict[str, str]) -> str:
    done = subprocess.run(
        ["podman", "ps", "--all", "--quiet", "--filter=name=headway-"],
        env=os.environ | podman,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_run_in_real_containers(podman: dict[str, str], tmp_path: Path) -> None:
    far = outside(tmp_path)
    flow = Flow(tmp_path / "flow", COUNT.format(image=f"docker://{IMAGE}", outside=far))
    flow.headway("run", **podman)
    out = flow.directory / "out.txt"
    assert out.read_text() == "blue, green|/nowhere|count|1|far\nlinked\n"
    assert (out.stat().st_uid, out.stat().st_gid) == (os.geteuid(), os.getegid())
    assert not left(podman)
    assert "started a container" in " ".join(flow.headway("doctor", "--container", IMAGE, **podman).stdout.split())


BIG = """
name: big
tasks:
  big:
    container: {image}
    run: |
      held=$(head -c 60000000 /dev/zero | tr '\\0' x)
      sleep 1
      touch done
    outputs: done
    resources: {{memory: {memory}, cores: 0.2}}
"""


def test_what_a_real_container_uses_is_measured(podman: dict[str, str], tmp_path: Path) -> None:
    flow = Flow(tmp_path, BIG.format(image=IMAGE, memory="500 MB"))
    flow.headway("run", **podman)
    (end,) = [record for record in flow.records() if isinstance(record, TaskEnded)]
    used = end.outcome.usage.memory_bytes
    assert used is not None
    assert used.value > 55_000_000


def test_a_real_container_that_exceeds_its_memory_gets_more(podman: dict[str, str], tmp_path: Path) -> None:
    flow = Flow(tmp_path, BIG.format(image=IMAGE, memory="45 MB"))
    flow.headway("run", "--sizer", "user", "--cores", "2", "--memory", "400MB", **podman)  # its share is 40 MB
    assert len(flow.launches()) > 1
    assert "memory" in flow.headway("why", "big").stdout
    assert not left(podman)


def test_a_real_container_ends_with_its_run(podman: dict[str, str], tmp_path: Path) -> None:
    command = "trap '' TERM; touch started; sleep 600 & wait; sleep 600"
    flow = Flow(tmp_path, f'name: w\ntasks:\n  a:\n    container: {IMAGE}\n    run: "{command}"\n')
    manager = flow.start("run", **podman)
    wait_until((tmp_path / "started").exists)
    assert left(podman)
    flow.headway("cancel")
    manager.wait(30)
    wait_until(lambda: not left(podman))
