"""Synthetic runs: `headway run --synthetic` on recorded and on generated instances."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from headway.formats.read_any import read_instance
from headway.formats.wfformat_out import wfformat
from headway.generators import generate
from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow
from tests.end_to_end.project import Flow

REAL = {  # the smallest instance of each of ten families, from three workflow systems and one generator
    "1000genome": "wfinstances/pegasus/1000genome-chameleon-2ch-100k-001.json.gz",
    "bacass": "wfinstances/nextflow/bacass-dirt02-001.json.gz",
    "blast": "wfinstances/makeflow/blast-chameleon-small-001.json.gz",
    "cybershake": "glume-dax/CYBERSHAKE_50_360000.dax.gz",
    "cycles": "wfinstances/pegasus/cycles-chameleon-1l-1c-9p-001.json.gz",
    "epigenomics": "wfinstances/pegasus/epigenomics-chameleon-hep-1seq-50k-001.json.gz",
    "montage": "wfinstances/pegasus/montage-chameleon-dss-05d-001.json.gz",
    "seismology": "wfinstances/pegasus/seismology-chameleon-100p-001.json.gz",
    "sipht": "glume-dax/SIPHT_50_360000.dax.gz",
    "srasearch": "wfinstances/pegasus/srasearch-chameleon-10a-001.json.gz",
}
RUN_S, MEMORY_BYTES, FILE_BYTES = 0.5, 60e6, 20e6  # targets: sum over all tasks; the largest task; sum over all files


def write(directory: Path, instance: Instance, name: str = "w.json") -> Flow:
    (directory / name).write_bytes(wfformat(instance))
    flow = Flow(directory, "")
    (directory / "workflow.yaml").unlink()
    return flow


def down_to(wanted: float, found: float) -> float:
    return min(1.0, wanted / found) if found else 1.0


def run_scaled(directory: Path, name: str) -> None:
    """Run an instance, scaled down to some seconds, and check that all tasks succeed and all files have their sizes."""
    instance = read_instance(directory / name)
    recorded = instance.recorded.values()
    scale = {
        "--scale-time": down_to(RUN_S, sum(figures.run_s or 0 for figures in recorded)),
        "--scale-memory": down_to(MEMORY_BYTES, max(figures.memory_bytes or 0 for figures in recorded)),
        "--scale-bytes": down_to(FILE_BYTES, sum(instance.file_bytes.values())),
    }
    flow = Flow(directory, "")
    options = [word for option, factor in scale.items() for word in (option, f"{factor!r}")]
    answer = flow.json("run", name, "--synthetic", "--quiet", *options)
    assert answer["tasks"]["succeeded"] == answer["tasks"]["total"] == len(instance.workflow)
    (folder,) = directory.glob("*.files")
    for path in instance.workflow.producer:
        size_bytes = (folder / "out" / path).stat().st_size
        if path in instance.file_bytes:
            expected = instance.file_bytes[path] * scale["--scale-bytes"]
            assert size_bytes == (max(1, round(expected)) if expected else 0), path
    assert sorted(entry.name for entry in directory.iterdir()) == sorted(
        [".headway", name, folder.name, "workflow.yaml"]
    ), "no other files are left"


@pytest.mark.skipif(not os.environ.get("HEADWAY_DATA"), reason="HEADWAY_DATA does not say where the real instances are")
@pytest.mark.parametrize("family", REAL)
def test_real_instances(family: str, tmp_path: Path) -> None:
    source = Path(os.environ["HEADWAY_DATA"]) / REAL[family]
    shutil.copy(source, tmp_path)
    run_scaled(tmp_path, source.name)


@pytest.mark.parametrize("family", ["cybershake", "epigenomics", "ligo", "montage", "sipht"])
def test_generated_instances(family: str, tmp_path: Path) -> None:
    write(tmp_path, generate(family, 21, 1))
    run_scaled(tmp_path, "w.json")


def test_stand_ins_use_the_recorded_resources(tmp_path: Path) -> None:
    recorded = Recorded(run_s=100.0, cores_used=0.5, memory_bytes=2_000_000_000, written_bytes=50_000_000)
    flow = write(tmp_path, Instance(Workflow("w", [Task("a", "a", "", outputs=("x", "y"))]), {"a": recorded}))
    options = ("--scale-time", "0.01", "--scale", "0.1", "--cores", "1", "--quiet")
    flow.headway("run", "w.json", "--synthetic", *options)
    used = flow.json("why", "a")["attempts"][0]["used"]
    assert used["wall_s"]["value"] >= 1.0
    assert used["cpu_s"]["value"] == pytest.approx(0.5, rel=0.3)
    assert used["memory_bytes"]["value"] == pytest.approx(200e6, rel=0.05)
    assert used["disk_bytes"]["value"] == pytest.approx(5e6, rel=0.1)


def test_a_task_may_have_more_outputs_than_fit_on_a_command_line(tmp_path: Path) -> None:
    outputs = tuple(f"parts/{'long-name-' * 3}{number}" for number in range(10_000))
    recorded = {"a": Recorded(run_s=0.1, written_bytes=20_000)}
    flow = write(tmp_path, Instance(Workflow("w", [Task("a", "a", "", outputs=outputs)]), recorded))
    flow.headway("run", "w.json", "--synthetic", "--quiet")
    sizes = {entry.stat().st_size for entry in os.scandir(tmp_path / "w.files" / "out" / "parts")}
    assert sizes == {2}


def test_results_are_reused_until_the_scale_changes(tmp_path: Path) -> None:
    flow = write(tmp_path, generate("sipht", 13, 1))
    options = ("--synthetic", "--scale", "0.0001")
    assert flow.json("run", "w.json", *options)["tasks"]["succeeded"] == 13
    assert flow.json("run", "w.json", *options)["tasks"]["reused"] == 13
    verdicts = flow.json("run", "w.json", "--synthetic", "--scale", "0.0002", "-n")["tasks"]
    assert {verdict["verdict"] for verdict in verdicts} == {"runs"}


def test_a_dry_run_writes_no_files(tmp_path: Path) -> None:
    flow = write(tmp_path, generate("ligo", 12, 1))
    verdicts = flow.json("run", "w.json", "--synthetic", "--dry-run")["tasks"]
    assert [verdict["verdict"] for verdict in verdicts] == ["runs"] * 12
    assert [entry.name for entry in tmp_path.iterdir()] == ["w.json"]


def test_a_second_run_with_another_scale_does_not_change_the_inputs_of_the_first(tmp_path: Path) -> None:
    """The second run is refused while the first one is running."""
    task = Task("a", "a", "", inputs=("big",), outputs=("x",))
    flow = write(tmp_path, Instance(Workflow("w", [task]), {"a": Recorded(run_s=30.0)}, {"big": 1000}))
    first = flow.start("run", "w.json", "--synthetic")
    input_file = tmp_path / "w.files" / "in" / "0" / "0-big"
    try:
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob(".headway/runs/1/**/stdout")):
            assert time.monotonic() < deadline, "timed out"
            time.sleep(0.02)
        second = flow.headway("run", "w.json", "--synthetic", "--scale", "0.5", code=4)
        assert "at work" in second.stderr or "is managed" in second.stderr or "another" in second.stderr
        assert input_file.stat().st_size == 1000
    finally:
        flow.headway("cancel", code=None)
        first.communicate(timeout=300)


# --- wrong options and files ---


def test_scale_options_need_synthetic(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "{name: w, tasks: {a: {run: 'true'}}}")
    for option in ("--scale", "--scale-time", "--scale-memory", "--scale-bytes"):
        assert f"{option} is about stand-ins" in flow.headway("run", option, "0.5", code=2).stderr
    assert not (tmp_path / ".headway").exists()


@pytest.mark.parametrize("factor", ["0", "-1", "inf", "nan", "much"])
def test_scales_must_be_positive_numbers(factor: str, tmp_path: Path) -> None:
    flow = write(tmp_path, generate("ligo", 6, 1))
    complaint = flow.headway("run", "w.json", "--synthetic", "--scale", factor, code=2).stderr
    assert "--scale" in complaint
    assert complaint.count("\n") == 1


def test_a_workflow_file_without_records_cannot_be_run_synthetically(tmp_path: Path) -> None:
    flow = Flow(tmp_path, "{name: w, tasks: {a: {run: 'true'}}}")
    complaint = flow.headway("run", "--synthetic", code=2).stderr
    assert "workflow.yaml: nothing is recorded" in complaint


def test_tasks_without_a_command_are_refused(tmp_path: Path) -> None:
    flow = write(tmp_path, generate("ligo", 6, 1))
    complaint = flow.headway("run", "w.json", code=2).stderr
    assert "6 of 6 tasks have no command" in complaint
    assert "--synthetic" in complaint
    assert not (tmp_path / ".headway").exists()


def test_an_instance_with_commands_runs_them(tmp_path: Path) -> None:
    tasks = [
        Task("a", "a", "echo hello > x", outputs=("x",)),
        Task("b", "b", "cat x > y", inputs=("x",), outputs=("y",)),
    ]
    flow = write(tmp_path, Instance(Workflow("w", tasks), {"a": Recorded(run_s=1.0)}))
    flow.headway("run", "w.json", "--quiet")
    assert (tmp_path / "y").read_text() == "hello\n"


def test_a_generated_workflow_can_be_run_synthetically(tmp_path: Path) -> None:
    """The two commands of docs/synthetic.md, on a smaller scale."""
    flow = Flow(tmp_path, "")
    flow.headway("generate", "montage", "--tasks", "20", "--memory-mean", "10MB:20MB", "--seed", "1")
    answer = flow.json("run", "montage-20-1.json", "--synthetic", "--scale", "0.001")
    assert answer["tasks"]["succeeded"] == 20


def test_missing_inputs_of_an_instance_are_reported_with_a_hint_at_synthetic(tmp_path: Path) -> None:
    task = Task("a", "a", "cat given > made", inputs=("given",), outputs=("made",))
    flow = write(tmp_path, Instance(Workflow("w", [task]), {"a": Recorded(run_s=1.0)}))
    complaint = flow.headway("run", "w.json", code=2).stderr
    assert "input 'given' of task 'a' does not exist" in complaint
    assert "--synthetic runs stand-ins" in complaint
