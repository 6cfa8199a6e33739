"""Other users of the machine get nothing of a run and no answer from its pool; names like commands are only names."""

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

import psutil
import pytest
import yaml

pytest.importorskip("distributed")

from tests.slurm.configuration import Configuration
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import PATIENCE_S, SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import kill_all, mentioning, wait_until
from tests.slurm.stranger import Attempts, Success, try_as_stranger

# Under way until somebody says go.
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
HOSTILE_PLACE = "-n $(touch pwned)`touch pwned`;touch pwned'\"%j\\&*é\n#SBATCH --wrap=pwned for you\n"
# The name of a task's file out of the task's id: all that Headway itself puts into the command's surroundings.
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
    """Runs that were looked at while they were under way, and have ended since."""

    flows: dict[str, SlurmFlow]
    paths: list[str]  # of all that was there of them
    modes: dict[str, int]
    listening: dict[str, list[tuple[str, int]]]
    got: Success
    got_with_key: Success


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Five runs at once: three that a stranger looks at, and two with hostile names."""
    require_slurm()
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    place = Path(tempfile.mkdtemp(prefix="headway-strangers-"))
    place.chmod(0o755)  # that it is on the way to it keeps nobody from a run
    runs: dict[str, subprocess.Popen[bytes]] = {}
    try:
        with SlurmLab(Configuration(nodes=8, cpus=2, memory_mb=4000)) as lab:
            yield _watched(lab, place, runs)
    finally:
        for run in runs.values():
            run.kill()
        kill_all(mentioning(place))
        shutil.rmtree(place)


def _watched(lab: SlurmLab, place: Path, runs: dict[str, subprocess.Popen[bytes]]) -> Scene:
    flows = {}
    for name, lines in (("ours", "dask"), ("theirs", "dask"), ("files", "files")):
        flows[name] = _flow(lab, place / name, WAITS)
        runs[name] = flows[name].begin("--plan", "big-job", "--lines", lines)
    for lines in ("files", "dask"):
        name = f"hostile-{lines}"
        flows[name] = _flow(lab, place / name / HOSTILE_PLACE, yaml.safe_dump(HOSTILE_WORKFLOW))
        runs[name] = flows[name].begin("--plan", "one-job", "--lines", lines)
    watched = {name: flows[name] for name in ("ours", "theirs", "files")}
    for flow in watched.values():
        wait_until(lambda flow=flow: len(flow.executed()) == 2, "tasks on both nodes", patience_s=PATIENCE_S)
    for name in ("ours", "theirs"):  # a stranger who has a key has it
        shutil.copytree(watched[name].directory / ".headway/runs/1/pool/keys", place / f"{name}-keys")
        for path in (place / f"{name}-keys", *(place / f"{name}-keys").iterdir()):
            path.chmod(0o755)
    paths = [path for flow in watched.values() for path in _all_of(flow.directory / ".headway")]
    modes = {str(path): path.lstat().st_mode for path in paths}
    listening = {name: _listening(flow) for name, flow in watched.items()}
    got = try_as_stranger(
        Attempts(
            [*map(str, paths), str(flows["ours"].directory / "workflow.yaml")],
            listening["ours"],
            {"theirs": str(place / "theirs-keys")},
        )
    )
    got_with_key = try_as_stranger(Attempts([], listening["ours"], {"ours": str(place / "ours-keys")}))
    for name, flow in flows.items():
        (flow.directory.parent / "executions.go").touch()
        flow.await_end(runs[name])
    return Scene(flows, list(modes), modes, listening, got, got_with_key)


def _flow(lab: SlurmLab, place: Path, workflow: str) -> SlurmFlow:
    place.mkdir(parents=True)
    return SlurmFlow(lab, place, workflow)


def _all_of(home: Path) -> list[Path]:
    return [home, *(path for path in home.rglob("*") if not path.is_symlink())]


def _listening(flow: SlurmFlow) -> list[tuple[str, int]]:
    """Every port on which a process of Headway's listens for the run; Slurm's own, such as srun's, are its affair."""
    found = []
    for process in map(psutil.Process, sorted(mentioning(flow.directory))):
        for each in process.net_connections("inet") if process.cmdline()[:1] == [sys.executable] else ():
            if each.status == psutil.CONN_LISTEN:
                found.append(("127.0.0.1" if each.laddr.ip == "0.0.0.0" else each.laddr.ip, each.laddr.port))
    return found


def test_others_can_open_nothing_of_a_run(scene: Scene) -> None:
    """Neither read nor write it; what is no part of it shows that they tried."""
    assert len(scene.paths) > 60
    assert any(stat.S_ISSOCK(mode) for mode in scene.modes.values())
    assert scene.got.opened == [str(scene.flows["ours"].directory / "workflow.yaml")]


def test_nothing_of_a_run_is_meant_for_others(scene: Scene) -> None:
    """Not even where a closed folder above it were opened by mistake."""
    assert not {path: oct(mode) for path, mode in scene.modes.items() if mode & 0o077}


def test_without_its_key_nobody_gets_an_answer_from_a_pool(scene: Scene) -> None:
    """Not from the scheduler, nor from the two carriers: without TLS, without a key, and with another run's."""
    assert len(scene.listening["ours"]) == 3
    assert scene.got.answered == []
    assert [to for _, *to in scene.got_with_key.answered] == list(map(list, scene.listening["ours"]))


def test_a_run_through_files_listens_nowhere(scene: Scene) -> None:
    assert scene.listening["files"] == []


@pytest.mark.parametrize("name", ["ours", "theirs", "files"])
def test_the_runs_went_on_as_if_nobody_had_tried(scene: Scene, name: str) -> None:
    scene.flows[name].check(2)
    assert set(scene.flows[name].executed().values()) == {1}


@pytest.mark.parametrize("lines", ["files", "dask"])
def test_hostile_names_do_nothing(scene: Scene, lines: str) -> None:
    flow = scene.flows[f"hostile-{lines}"]
    flow.check(2 * len(HOSTILE))
    assert {path.name for path in flow.directory.iterdir()} == {
        *HOSTILE,
        *(f"made {name}" for name in HOSTILE),
        ".headway",
        "workflow.yaml",
    }
    assert {(flow.directory / name).read_text() for name in HOSTILE} == set(HOSTILE)
    assert not [path for path in flow.directory.parents[1].rglob("*") if path.name == "pwned"]


def test_what_tasks_make_has_the_users_own_permissions(scene: Scene) -> None:
    umask = int(Path("/proc/self/status").read_text().partition("\nUmask:")[2].split()[0], 8)
    for name in ("ours", "files"):
        made = scene.flows[name].directory / "made-1"
        assert stat.S_IMODE(made.stat().st_mode) == 0o666 & ~umask
