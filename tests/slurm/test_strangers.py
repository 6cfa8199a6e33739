"""Other users of the machine cannot open a run's files or talk to its pool; hostile names are never executed."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

pytest.importorskip("psutil")

import psutil

pytest.importorskip("distributed")

from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import PATIENCE_S, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import kill_all, mentioning, wait_until
from tests.slurm.stranger import Attempts, Success, try_as_stranger

# The tasks run until the test creates the file `go`.
WAITS = """
name: waits
tasks:
  waits:
    each: {n: [1, 2]}
    run: |
      echo "waits[{n}]" >> "$EXECUTIONS"
      while [ ! -e "$EXECUTIONS.go" ]; do sleep 0.1; done
      echo {n} > made-{n}
    outputs: ["made-{n}"]
    resources: {cores: 2, memory: 100 MB}
"""

HOSTILE = (
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "' ; touch pwned '", '" ; touch pwned "', "a b", "--help", "-",
    "%j", "a\\", "|touch pwned", "&touch pwned", ">pwned", "#SBATCH --wrap=pwned", "é", "~", "$HOME", "{n}",
)  # fmt: skip
HOSTILE_DIRECTORY = "-n $(touch pwned)`touch pwned`;touch pwned'\"%j\\&*é\n#SBATCH --wrap=pwned for you\n"
# Shell code that takes the file's name from the task's id in HEADWAY_TASK, so that the command itself holds no name.
NAME = "name=${HEADWAY_TASK#*[}; name=${name%]}"
ROOM = {"cores": 1, "memory": "100 MB"}
HOSTILE_WORKFLOW = {
    "name": "$(touch pwned) ' \" `touch pwned`",
    "tasks": {
        "make ; touch pwned '": {
            "each": {"n": list(HOSTILE)},
            "run": f'{NAME}; printf "%s" "$name" > "./made $name"',
            "outputs": ["made {n}"],
            "resources": ROOM,
        },
        "use `touch pwned`": {
            "each": {"n": list(HOSTILE)},
            "run": f'{NAME}; cat "./made $name" > "./$name"',
            "inputs": ["made {n}"],
            "outputs": ["{n}"],
            "resources": ROOM,
        },
    },
}


class Scene(NamedTuple):
    """Finished runs, with what was observed while they were running."""

    flows: dict[str, SlurmFlow]
    paths: list[str]  # every path below .headway of the runs
    modes: dict[str, int]
    listening: dict[str, list[tuple[str, int]]]
    got: Success
    got_with_key: Success


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Three runs at once that another user tries to open, and two with hostile names."""
    require_slurm()
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    directory = Path(tempfile.mkdtemp(prefix="headway-strangers-"))
    directory.chmod(0o755)  # so that only the run's own modes can keep other users out
    runs: dict[str, subprocess.Popen[bytes]] = {}
    try:
        with SlurmLab(Configuration(nodes=8, cpus=2, memory_mb=4000)) as lab:
            yield _watched(lab, directory, runs)
    finally:
        for run in runs.values():
            run.kill()
        kill_all(mentioning(directory))
        shutil.rmtree(directory)


def _watched(lab: SlurmLab, directory: Path, runs: dict[str, subprocess.Popen[bytes]]) -> Scene:
    flows = {}
    for name, connections in (("ours", "dask"), ("theirs", "dask"), ("files", "files")):
        flows[name] = _flow(lab, directory / name, WAITS)
        runs[name] = flows[name].begin("--plan", "big-job", "--lines", connections)
    watched = dict(flows)
    for flow in watched.values():
        wait_until(lambda flow=flow: len(flow.executed()) == 2, "tasks on both nodes", patience_s=PATIENCE_S)
    # Not earlier: their jobs are large, and Slurm would keep nodes free for them while the others wait.
    for connections in ("files", "dask"):
        name = f"hostile-{connections}"
        flows[name] = _flow(lab, directory / name / HOSTILE_DIRECTORY, yaml.safe_dump(HOSTILE_WORKFLOW))
        runs[name] = flows[name].begin("--plan", "one-job", "--lines", connections)
    for name in ("ours", "theirs"):  # readable keys, for attempts of another user who holds a key
        shutil.copytree(watched[name].directory / ".headway/runs/1/pool/keys", directory / f"{name}-keys")
        for path in (directory / f"{name}-keys", *(directory / f"{name}-keys").iterdir()):
            path.chmod(0o755)
    paths = [path for flow in watched.values() for path in _all_of(flow.directory / ".headway")]
    modes = {str(path): path.lstat().st_mode for path in paths}
    listening = {name: _listening(flow) for name, flow in watched.items()}
    got = try_as_stranger(
        Attempts(
            [*map(str, paths), str(flows["ours"].directory / "workflow.yaml")],
            listening["ours"],
            {"theirs": str(directory / "theirs-keys")},
        )
    )
    got_with_key = try_as_stranger(Attempts([], listening["ours"], {"ours": str(directory / "ours-keys")}))
    for name, flow in flows.items():
        (flow.directory.parent / "executions.go").touch()
        flow.await_end(runs[name])
    return Scene(flows, list(modes), modes, listening, got, got_with_key)


def _flow(lab: SlurmLab, directory: Path, workflow: str) -> SlurmFlow:
    directory.mkdir(parents=True)
    return SlurmFlow(lab, directory, workflow)


def _all_of(home: Path) -> list[Path]:
    return [home, *(path for path in home.rglob("*") if not path.is_symlink())]


def _listening(flow: SlurmFlow) -> list[tuple[str, int]]:
    """Return every port on which one of the run's Headway processes listens; ports of srun do not count."""
    found = []
    for process in map(psutil.Process, sorted(mentioning(flow.directory))):
        for each in process.net_connections("inet") if process.cmdline()[:1] == [sys.executable] else ():
            if each.status == psutil.CONN_LISTEN:
                found.append(("127.0.0.1" if each.laddr.ip == "0.0.0.0" else each.laddr.ip, each.laddr.port))
    return found


def test_other_users_can_open_no_file_of_a_run(scene: Scene) -> None:
    """They can neither read nor write. The workflow file, which is not private, shows that the attempts work."""
    assert len(scene.paths) > 60
    assert any(stat.S_ISSOCK(mode) for mode in scene.modes.values())
    assert scene.got.opened == [str(scene.flows["ours"].directory / "workflow.yaml")]


def test_every_file_of_a_run_is_private_by_its_own_mode(scene: Scene) -> None:
    """So a file stays private even if a folder above it is opened by mistake."""
    assert not {path: oct(mode) for path, mode in scene.modes.items() if mode & 0o077}


def test_a_pool_answers_only_clients_with_the_runs_key(scene: Scene) -> None:
    """The scheduler and the two relays refuse clients without TLS, without a key, and with another run's key."""
    assert len(scene.listening["ours"]) == 3
    assert scene.got.answered == []
    assert [to for _, *to in scene.got_with_key.answered] == list(map(list, scene.listening["ours"]))


def test_a_run_with_file_connections_listens_on_no_port(scene: Scene) -> None:
    assert scene.listening["files"] == []


@pytest.mark.parametrize("name", ["ours", "theirs", "files"])
def test_the_attempts_of_another_user_do_not_disturb_the_runs(scene: Scene, name: str) -> None:
    scene.flows[name].check(2)
    assert set(scene.flows[name].executed().values()) == {1}


@pytest.mark.parametrize("connections", ["files", "dask"])
def test_hostile_names_do_nothing(scene: Scene, connections: str) -> None:
    flow = scene.flows[f"hostile-{connections}"]
    flow.check(2 * len(HOSTILE))
    assert {path.name for path in flow.directory.iterdir()} == {
        *HOSTILE,
        *(f"made {name}" for name in HOSTILE),
        ".headway",
        "workflow.yaml",
    }
    assert {(flow.directory / name).read_text() for name in HOSTILE} == set(HOSTILE)
    assert not [path for path in flow.directory.parents[1].rglob("*") if path.name == "pwned"]


def test_outputs_have_the_permissions_of_the_users_umask(scene: Scene) -> None:
    umask = int(Path("/proc/self/status").read_text().partition("\nUmask:")[2].split()[0], 8)
    for name in ("ours", "files"):
        made = scene.flows[name].directory / "made-1"
        assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~umask
