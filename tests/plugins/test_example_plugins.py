"""The example plugins of docs/plugins.md, installed and used."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from headway import plugins
from headway.clusters.base import Cluster
from headway.clusters.local import RunJobs
from headway.testing import ClusterContract, EstimatorContract
from headway.workers.file_connection import FileConnections
from tests.end_to_end.project import Flow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "plugins"
PAGE = (ROOT / "docs" / "plugins.md").read_text()

sys.path += [str(EXAMPLES / "median_sizer"), str(EXAMPLES / "process_cluster")]

from median_sizer import MedianAndAHalf  # noqa: E402
from process_cluster import ProcessCluster  # noqa: E402

TASKS = """
    name: small
    tasks:
      square:
        each: {n: [1, 2, 3, 4, 5]}
        run: echo $(({n} * {n})) > {n}.txt
        outputs: ["{n}.txt"]
      total:
        run: cat *.txt | paste -sd+ | bc > total
        inputs: ["*.txt"]
        outputs: [total]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install both plugins into a separate folder."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    folders = [str(EXAMPLES / "median_sizer"), str(EXAMPLES / "process_cluster")]
    subprocess.run([*command, "--no-build-isolation", "--target", str(site), *folders], check=True)
    return site


def test_the_example_sizer_is_listed_and_sizes_tasks(installed: Path, tmp_path: Path) -> None:
    flow = Flow(tmp_path, TASKS)
    listed = flow.headway("policies", PYTHONPATH=str(installed)).stdout
    assert "median-and-a-half" in listed
    flow.headway("run", "--sizer", "median-and-a-half", "--cores", "1", PYTHONPATH=str(installed))
    rules = {launch.why["memory_bytes"].rule for launch in flow.launches()}
    assert "median" in rules, "later tasks are sized by what the first ones used"
    assert "no sizer called 'median-and-a-half'" in flow.headway("run", "--sizer", "median-and-a-half", code=2).stderr


def test_the_example_cluster_runs_a_workflow(installed: Path, tmp_path: Path) -> None:
    flow = Flow(tmp_path, TASKS)
    flow.headway("run", "--on", "processes", "--plan", "one-job-per-task", PYTHONPATH=str(installed))
    assert (tmp_path / "total").read_text().strip() == "55"
    assert {launch.tag.rpartition("-")[2] for launch in flow.launches()} > {"1"}, "tasks ran in several jobs"
    assert "there is no cluster called 'processes'" in flow.headway("run", "--on", "processes", code=2).stderr


class TestMedianAndAHalf(EstimatorContract):
    def make(self) -> plugins.Estimator:
        return MedianAndAHalf()


class TestProcessCluster(ClusterContract):
    def make(self, path: Path) -> Cluster:
        jobs = RunJobs("test", str(path), path / "jobs", grace_s=1.0)
        jobs.folder.mkdir(exist_ok=True)
        jobs.order("").write(jobs.folder)
        cluster: Cluster = ProcessCluster(jobs, {}, FileConnections(jobs.folder).node_command)
        return cluster


@pytest.mark.parametrize("name", ["median_sizer", "process_cluster"])
def test_the_docs_page_shows_the_current_source_files(name: str) -> None:
    shown = re.findall(r"^```(?:python|toml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert (EXAMPLES / name / f"{name}.py").read_text() in shown


def test_the_docs_page_names_every_entry_point() -> None:
    for group in plugins.ENTRY_POINTS:
        assert f"`{group}`" in PAGE


def test_a_plugin_that_fails_to_load_is_named(tmp_path: Path) -> None:
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    broken = "broken = no_such_module:Thing\n"
    (info / "entry_points.txt").write_text(f"[headway.orders]\n{broken}\n[headway.verbs]\n{broken}")
    flow = Flow(tmp_path, TASKS)
    for words in (["run", "--order", "broken"], ["broken"], ["policies"]):
        error = flow.headway(*words, PYTHONPATH=str(tmp_path / "site"), code=2).stderr
        assert "the plugin 'broken' of broken 1.0 cannot be loaded: ModuleNotFoundError" in error
        assert error.count("\n") == 1
    flow.headway("run", PYTHONPATH=str(tmp_path / "site"))  # needs no plugin


def test_the_papers_package_adds_its_command_by_an_entry_point() -> None:
    assert "reproduce" in entry_points(group="headway.verbs").names
