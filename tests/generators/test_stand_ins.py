"""From an instance to a workflow of stand-ins: what stays, what moves, and which amounts each uses."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.generators import generate
from headway.generators.stand_ins import Scale, StandIns, folder_beside, stand_ins
from headway.model.errors import InputError
from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow


def small() -> Instance:
    tasks = [
        Task("split[1]", "split", "real command", inputs=("/data/reads.fq", "ref/[a].fa"), outputs=("p1", "p 2")),
        Task("join", "join", "", inputs=("p1", "p 2", "ref/[a].fa"), outputs=("all",), priority=3.0, retries=2),
        Task("after", "after", "", parents=("join",), environment={"A": "b"}),
    ]
    recorded = {
        "split[1]": Recorded(run_s=100.0, cores=3.2, cores_used=2.5, memory_bytes=10**9, written_bytes=1000),
        "join": Recorded(run_s=50.0, cores=64.0),
    }
    sizes = {"/data/reads.fq": 5_000_000, "all": 300, "ref/[a].fa": 0}
    return Instance(Workflow("small", tasks), recorded, sizes)


def words(made: StandIns, task: str) -> list[str]:
    return shlex.split(made.workflow.tasks[task].command)


def amounts(made: StandIns, task: str) -> dict[str, float]:
    found = words(made, task)
    return {name: float(found[found.index(name) + 1]) for name in ("--run", "--busy", "--memory")}


def test_what_stays_and_what_moves() -> None:
    made = stand_ins(small(), "small.files", Scale(), most_cores=8)
    split, join, after = made.workflow
    assert [(task.id, task.category) for task in made.workflow] == [
        ("split[1]", "split"),
        ("join", "join"),
        ("after", "after"),
    ]
    assert (join.parents, join.priority, after.parents) == (("split[1]",), 3.0, ("join",))
    assert split.outputs == ("small.files/out/p1", "small.files/out/p 2")
    assert all(path.startswith("small.files/") for task in made.workflow for path in (*task.inputs, *task.outputs))
    assert join.inputs[:2] == split.outputs
    assert "real" not in split.command
    assert split.hints == {"cores": 4}
    assert join.hints == {"cores": 8}, "no more than the machine has"
    assert after.hints == {}


def test_figures_are_scaled() -> None:
    made = stand_ins(small(), "f", Scale(time=0.01, memory=0.5, size=0.1), most_cores=8)
    assert amounts(made, "split[1]") == {"--run": 1.0, "--busy": 2.5, "--memory": 5 * 10**8}
    assert amounts(made, "join") == {"--run": 0.5, "--busy": 1.0, "--memory": 0}
    assert amounts(made, "after")["--run"] == 0, "nothing is known of it: it ends at once"
    assert words(made, "split[1]")[-2:] == ["f/out/p1=50", "f/out/p 2=50"], "the bytes written, spread over outputs"
    assert words(made, "join")[-1] == "f/out/all=30"
    assert sorted(made.inputs.values()) == [500_000], "a pattern is no file"


def test_unknown_and_empty_sizes() -> None:
    tasks = [Task("a", "a", "", inputs=("unknown", "empty"), outputs=("x", "tiny", "none"))]
    sizes = {"empty": 0, "tiny": 3, "none": 0}
    made = stand_ins(Instance(Workflow("w", tasks), {"a": Recorded(1.0)}, sizes), "f", Scale(size=0.001), 2)
    assert words(made, "a")[-3:] == ["f/out/x=1", "f/out/tiny=1", "f/out/none=0"]
    assert list(made.inputs.values()) == [1, 0]


def test_nothing_recorded_is_an_error() -> None:
    with pytest.raises(InputError, match="nothing is recorded"):
        stand_ins(Instance(Workflow("w", [Task("a", "a", "true")])), "f", Scale(), 2)


def test_inputs_are_written_once_and_again_for_another_scale(tmp_path: Path) -> None:
    made = stand_ins(generate("montage", 20, 1), "m.files", Scale(size=0.1), 2)
    made.make_files(tmp_path)
    before = {path: (tmp_path / path).stat() for path in made.inputs}
    assert {path: status.st_size for path, status in before.items()} == made.inputs
    assert sum(status.st_blocks for status in before.values()) == 0, "they are sparse"
    made.make_files(tmp_path)
    assert {path: (tmp_path / path).stat().st_mtime_ns for path in made.inputs} == {
        path: status.st_mtime_ns for path, status in before.items()
    }
    other = stand_ins(generate("montage", 20, 1), "m.files", Scale(size=0.2), 2)
    assert other.inputs.keys() == made.inputs.keys()
    other.make_files(tmp_path)
    assert all((tmp_path / path).stat().st_size == size for path, size in other.inputs.items())


def test_the_workflow_can_be_checked_before_files_are_written(tmp_path: Path) -> None:
    made = stand_ins(generate("ligo", 20, 1), "l.files", Scale(), 2)
    bare = made.without_missing_inputs(tmp_path)
    assert {path for task in bare for path in task.inputs} <= bare.producer.keys()
    made.make_files(tmp_path)
    assert made.without_missing_inputs(tmp_path).tasks == made.workflow.tasks


def test_many_outputs_go_into_a_list_file(tmp_path: Path) -> None:
    outputs = tuple(f"part-{number:06d}.dat" for number in range(100_000))
    instance = Instance(Workflow("w", [Task("a", "a", "", outputs=outputs)]), {"a": Recorded(1.0, written_bytes=10**6)})
    made = stand_ins(instance, "f", Scale(), 2)
    assert len(made.workflow.tasks["a"].command) < 1000
    made.make_files(tmp_path)
    (path,) = made.lists
    assert (tmp_path / path).read_text().count("=10\0") == 100_000
    other = stand_ins(instance, "f", Scale(size=0.5), 2)
    assert other.workflow.tasks["a"].command != made.workflow.tasks["a"].command, "another list is another command"


@given(st.integers(1, 2000))
def test_inputs_lie_in_small_folders(count: int) -> None:
    """A task that reads one file gets links to all files of its folder, so no folder may hold very many."""
    tasks = [Task(f"t{number}", "t", "", inputs=(f"in{number}",)) for number in range(count)]
    made = stand_ins(Instance(Workflow("w", tasks), {"t0": Recorded(1.0)}), "f", Scale(), 2)
    folders = [path.rpartition("/")[0] for path in made.inputs]
    assert len(made.inputs) == count
    most = max(folders.count(folder) for folder in set(folders))
    assert most + len(set(folders)) <= 3 * max(16, count**0.5)


def test_folders_are_named_after_the_file() -> None:
    names = {name: folder_beside(Path("x") / name) for name in ("a.json", "a.b.json.gz", "A.dax", "plain", "b[1].xml")}
    assert list(names.values()) == ["a.files", "a.b.files", "A.files", "plain.files", "b_1_.files"]
