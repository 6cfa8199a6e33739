"""`headway replay` on what Headway itself has run: a run's folder, and a directory with its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.api.task_logs import read_logs
from headway.model.errors import InputError
from tests.cli.bench import SMALL, Bench

WORKFLOW = """
name: sums
tasks:
  hold:
    each: {mb: [40, 60]}
    run: python3 -c "x = bytearray({mb} * 10**6)" && touch out-{mb}
    outputs: ["out-{mb}"]
    resources: {memory: 200 MB}
  fail:
    run: exit 3
    outputs: [never]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("own") / "project", tmp_path_factory.mktemp("home"))
    bench.write(WORKFLOW)
    for _ in range(2):
        assert bench("run", *SMALL, "--keep-going").returncode == 1
        for output in bench.directory.glob("out-*"):
            output.unlink()
    return bench


def test_a_run_is_a_log(project: Bench) -> None:
    ((_, log),) = read_logs([project.directory / ".headway" / "runs" / "1"])
    assert (log.name, log.format, log.left_out) == ("run 1", "headway", 1)
    assert sorted(task.id for task in log.tasks) == ["hold[40]", "hold[60]"]
    for task in log.tasks:
        assert task.category == "hold"
        assert 40e6 < task.used["memory_bytes"] < 200e6
        assert task.asked["memory_bytes"] == 200e6
        assert task.run_s > 0
    assert log.machine.memory_bytes == 10**9


def test_a_directory_is_all_its_runs(project: Bench) -> None:
    ((_, log),) = read_logs([project.directory])
    assert (log.name, len(log.tasks), log.left_out) == ("project", 4, 2)
    assert project.json("replay", ".", "--sizers", "ladder")["tasks"] == 4
    first, second = project.json("replay", ".headway/runs/1", ".headway/runs/2", "--together", "--sizers", "max-seen")
    assert second["attempts"]["max-seen"] == second["tasks"] == first["tasks"] == 2


def test_a_directory_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no log in this directory; name a log, or a directory with runs of"):
        read_logs([tmp_path])
    (tmp_path / ".headway").mkdir()
    with pytest.raises(InputError, match="no task of a run here succeeded"):
        read_logs([tmp_path])
