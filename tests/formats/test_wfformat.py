"""WfFormat in its three versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway.formats.wfformat import parse_wfformat
from headway.formats.wfformat_out import wfformat
from headway.model.errors import InputError, WorkflowError
from headway.model.instance import Instance, Machine, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow


def specified(*tasks: dict[str, Any], files: dict[str, int] | None = None, **execution: Any) -> bytes:
    """A file of version 1.5."""
    filled = [{"name": task["id"], "parents": [], "children": []} | task for task in tasks]
    listed = [{"id": name, "sizeInBytes": size} for name, size in (files or {}).items()]
    workflow: dict[str, Any] = {"specification": {"tasks": filled, "files": listed}}
    if execution:
        workflow["execution"] = {"makespanInSeconds": 10, "executedAt": "2020-12-26T03:13:32+00:00"} | execution
    return json.dumps({"name": "w", "schemaVersion": "1.5", "workflow": workflow}).encode()


def executed(**figures: Any) -> Instance:
    """The instance with one task `t` and these recorded figures."""
    return parse_wfformat(specified({"id": "t"}, tasks=[{"id": "t", "runtimeInSeconds": 1} | figures]))


def test_version_1_5() -> None:
    instance = parse_wfformat(
        specified(
            {"id": "mProject_ID01", "outputFiles": ["p.fits"], "inputFiles": ["raw.fits"]},
            {"id": "mAdd_ID02", "inputFiles": ["p.fits"], "parents": ["mProject_ID01"]},
            files={"raw.fits": 7, "p.fits": 5},
            tasks=[
                {
                    "id": "mProject_ID01",
                    "runtimeInSeconds": 2.5,
                    "command": {"program": "mProject", "arguments": ["-X", "--out x", "2>", "log"]},
                    "coreCount": 2,
                    "avgCPU": 50,
                    "memoryInBytes": 1000,
                    "readBytes": 3,
                    "writtenBytes": 0,
                    "priority": 20,
                    "machines": ["a", "b"],
                    "executedAt": "1970-01-01T01:00:00+01:00",
                },
                {"id": "mAdd_ID02", "runtimeInSeconds": 1, "memoryInBytes": 0},
            ],
            machines=[
                {"nodeName": "a", "cpu": {"coreCount": 4, "speedInMHz": 1200}, "memoryInBytes": 99, "system": "linux"}
            ],
        )
    )
    project, add = instance.workflow
    assert (project.category, project.command, project.priority) == ("mProject", "mProject -X --out x 2> log", 20)
    assert (add.category, add.command, add.parents) == ("mAdd", "", ("mProject_ID01",))
    assert instance.recorded["mProject_ID01"] == Recorded(2.5, 2, 0.5, 1000, 3, 0, 0.0, "a")
    assert instance.recorded["mAdd_ID02"] == Recorded(1)  # 0 means not measured
    assert instance.file_bytes == {"raw.fits": 7, "p.fits": 5}
    assert instance.machines == (Machine("a", 4, 99, 1200),)
    assert (instance.makespan_s, instance.started_at) == (10, 1608952412.0)


def test_version_1_4() -> None:
    tasks = [
        {
            "name": "split_00000001",
            "id": "ID01",
            "category": "split",
            "type": "compute",
            "runtime": 3,
            "cores": 2,
            "machine": "a",
            "files": [
                {"link": "input", "name": "in", "sizeInBytes": 5},
                {"link": "output", "name": "part", "sizeInBytes": 2},
            ],
        },
        {
            "name": "join_00000002",
            "type": "compute",
            "runtimeInSeconds": 4,
            "parents": ["split_00000001"],  # by name, as some of these files do
            "files": [{"link": "input", "name": "part", "sizeInBytes": 3}],
        },
    ]
    machine = {"nodeName": "a", "cpu": {"count": 8, "speed": 2000}}
    workflow = {"makespanInSeconds": 9, "executedAt": "x", "machines": [machine], "tasks": tasks}
    instance = parse_wfformat(json.dumps({"name": "old", "schemaVersion": "1.4", "workflow": workflow}).encode())
    assert {task.id: (task.category, task.parents) for task in instance.workflow} == {
        "ID01": ("split", ()),
        "join_00000002": ("join", ("ID01",)),
    }
    assert instance.recorded["ID01"] == Recorded(run_s=3, cores=2, machine="a")
    assert instance.file_bytes == {"in": 5, "part": 2}
    assert instance.machines == (Machine("a", 8, None, 2000),)
    assert (instance.makespan_s, instance.started_at) == (9, None)


def test_version_1_6_has_categories_in_the_execution() -> None:
    task = {"id": "t", "runtimeInSeconds": 1, "category": "sort", "launchDir": "/x"}
    instance = parse_wfformat(specified({"id": "t"}, tasks=[task], metrics={"sumTaskRuntimesInSeconds": 1}))
    assert instance.workflow.tasks["t"].category == "sort"


@pytest.mark.parametrize(
    ("task", "category"),
    [
        ({"id": "mProject_ID0000131"}, "mProject"),
        ({"id": "blastall_00000003"}, "blastall"),
        ({"id": "haplotype_caller_107"}, "haplotype_caller"),
        ({"id": "map_map_HEP2_s_1_sequence_4"}, "map"),
        ({"id": "chr21_chr21"}, "chr21"),
        ({"id": "BOWTIE2_BUILD"}, "BOWTIE2_BUILD"),
        ({"id": "_7"}, "_7"),
        ({"id": "NFCORE.FASTQC_2", "name": "NFCORE.FASTQC"}, "NFCORE.FASTQC"),
        ({"id": "x_1", "name": "y_2", "category": "z"}, "z"),
    ],
)
def test_categories(task: dict[str, str], category: str) -> None:
    assert [task.category for task in parse_wfformat(specified(task)).workflow] == [category]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2023-03-21T18:21:45-10:00", 1679458905),
        ("20200402T045538+0000", 1585803338),
        ("05-10-23T16:23:32Z", 1683735812),
        ("2020-04-02T04:55:38", 1585803338),
        ("1970-01-01T00:00:00+00:00", None),  # what a file says that must say something
        ("last Tuesday", None),
    ],
)
def test_moments(written: str, seconds: float | None) -> None:
    data = specified({"id": "t"}, tasks=[{"id": "t", "runtimeInSeconds": 1}], executedAt=written)
    assert parse_wfformat(data).started_at == seconds


def test_a_file_changed_in_place_is_an_output() -> None:
    both = {"id": "t", "inputFiles": ["a", "b"], "outputFiles": ["b"]}
    (task,) = parse_wfformat(specified(both)).workflow
    assert (task.inputs, task.outputs) == (("a",), ("b",))


def test_absolute_outputs_are_relative_to_the_directory() -> None:
    tasks = [{"id": "s", "outputFiles": ["/w/x*"]}, {"id": "t", "inputFiles": ["/w/x*", "/ref"]}]
    instance = parse_wfformat(specified(*tasks, files={"/w/x*": 3}))
    assert instance.workflow.tasks["t"].inputs == ("w/x%2A", "ref")
    assert instance.workflow.tasks["t"].parents == ("s",)
    assert instance.file_bytes == {"w/x%2A": 3}


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"runtimeInSeconds": -1}, ["'t'", "run time", "-1"]),
        ({"memoryInBytes": 2**63}, ["'t'", "memoryInBytes", "9223372036854775808"]),
        ({"avgCPU": -0.5}, ["'t'", "avgCPU", "-0.5"]),
        ({"readBytes": 10**200}, ["'t'", "readBytes", "1000"]),
        ({"coreCount": -4}, ["'t'", "coreCount", "-4"]),
        ({"priority": 1e300}, ["'t'", "priority", "1e+300"]),
        ({"runtimeInSeconds": "fast"}, ["runtimeInSeconds", "str"]),
    ],
)
def test_figures_out_of_range(figures: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        executed(**figures)
    assert all(word in str(problem.value) for word in ["workflow.json", *words]), problem.value


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([{"id": "a", "outputFiles": ["x"]}, {"id": "b", "outputFiles": ["x"]}], ["'a'", "'b'", "both produce 'x'"]),
        ([{"id": "a", "parents": ["b"]}, {"id": "b", "parents": ["a"]}], ["circle"]),
        ([{"id": "a", "parents": ["c"]}], ["'a' needs 'c'"]),
        ([{"id": "a"}, {"id": "a"}], ["two tasks", "'a'"]),
        ([{"id": "a\nb"}], ["number 1", "id"]),
        ([{"id": "a", "inputFiles": [""]}], ["empty id"]),
        ([], ["no tasks"]),
    ],
)
def test_invalid_tasks(tasks: list[dict[str, Any]], words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        parse_wfformat(specified(*tasks), "w.json")
    assert str(problem.value).startswith("w.json: ")
    assert all(word in str(problem.value) for word in words), problem.value


def test_a_cycle_names_the_file() -> None:
    with pytest.raises(WorkflowError) as problem:
        parse_wfformat(specified({"id": "a", "parents": ["a"]}), "w.json")
    assert problem.value.where == "w.json"


def test_executed_tasks_must_be_specified() -> None:
    with pytest.raises(InputError, match="'u' was executed but is not specified"):
        parse_wfformat(specified({"id": "t"}, tasks=[{"id": "u", "runtimeInSeconds": 1}]))


# --- writing ---


def test_patterns_are_written_as_the_files_that_they_match() -> None:
    flow = Workflow(
        "w",
        [
            Task("make[1]", "make", "…", outputs=("part_1", "part_2")),
            Task("join", "join", "…", inputs=("part_*", "raw_?"), outputs=("part_all",)),
        ],
    )
    document = json.loads(wfformat(Instance(flow, file_bytes={"raw_1": 5})))
    make, join = document["workflow"]["specification"]["tasks"]
    assert (make["id"], make["name"], make["children"]) == ("make#5B1#5D", "make", ["join"])
    assert join["inputFiles"] == ["part_1", "part_2", "raw_1"]
    assert join["headway"] == {"command": "…", "inputs": ["part_*", "raw_?"]}
    assert "execution" not in document["workflow"]


def test_recorded_figures_are_written_in_standard_fields() -> None:
    flow = Workflow("w", [Task("t", "sort", "sort x", priority=3), Task("u", "sort", "sort y")])
    recorded = {"t": Recorded(2.0, 1, 0.5, 100, 1, 2, 0.25, "box"), "u": Recorded(memory_bytes=5)}
    document = json.loads(wfformat(Instance(flow, recorded, machines=(Machine("box", 2),), makespan_s=3)))
    assert document["workflow"]["execution"] == {
        "makespanInSeconds": 3,
        "executedAt": "1970-01-01T00:00:00+00:00",
        "tasks": [
            {
                "id": "t",
                "runtimeInSeconds": 2.0,
                "executedAt": "1970-01-01T00:00:00.250000+00:00",
                "command": {"program": "sort x"},
                "coreCount": 1,
                "avgCPU": 50.0,
                "readBytes": 1,
                "writtenBytes": 2,
                "memoryInBytes": 100,
                "priority": 3,
                "machines": ["box"],
            }
        ],
        "machines": [{"nodeName": "box", "cpu": {"coreCount": 2}}],
    }
    assert document["workflow"]["specification"]["tasks"][1]["headway"] == {
        "command": "sort y",
        "recorded": {"memory_bytes": 5},
    }


def test_only_our_own_files_are_unescaped() -> None:
    assert "a#5Bb" in parse_wfformat(specified({"id": "a#5Bb"})).workflow.tasks


def test_an_empty_workflow_is_refused() -> None:
    with pytest.raises(InputError, match="no tasks"):
        wfformat(Instance(Workflow("w")))
