"""The commands of the pages about Slurm run as they stand, on a real Slurm that has the partitions which they name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ON_SLURM, reader, script
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.conftest import require_slurm
from tests.slurm.flows import PATIENCE_S
from tests.slurm.lab import SlurmLab

SITE = Configuration(
    nodes=3,
    cpus=4,
    memory_mb=4000,
    partitions=(Partition("main", 2, 60), Partition("gpu", 3, 60, first=3), Partition("debug", 1, 10)),
    more=("GresTypes=gpu",),
    unlike={3: {"Gres": "gpu:a100:2"}},
)
# What the commands of a page leave, and what they print.
FOUND = {
    "first-slurm-run": (
        ["hosts.txt"],
        ["9 tasks run", "Slurm was asked", "run 2 goes on in the background", "headway"],
    ),
    "gpus": (["table.txt"], ["5 tasks of 2 categories", "5 tasks run", "sees GPUs 0\n", "sees GPUs 1\n"]),
    "tell-administrators": (["headway.toml"], ["partition"]),
    "administrators": ([], ["partition"]),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    require_slurm()
    with SlurmLab(SITE) as lab:
        yield lab


@pytest.mark.parametrize("page", sorted(ON_SLURM))
def test_commands_of_a_page(page: str, lab: SlurmLab, tmp_path: Path) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    environment = reader(tmp_path)
    ours = lab.environment()
    path = f"{environment['PATH'].split(':')[0]}:{ours['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script(page)],
        cwd=directory,
        env=environment | ours | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    files, words = FOUND[page]
    assert [name for name in files if not (directory / name).exists()] == []
    assert [word for word in words if word not in said] == [], said
