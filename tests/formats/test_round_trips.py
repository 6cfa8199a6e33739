"""Writing and reading gives the same workflow."""

from __future__ import annotations

import re

import msgspec
import yaml
from hypothesis import given, settings

from headway.formats.headway_yaml import parse_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.formats.wfformat import parse_wfformat
from headway.formats.wfformat_out import wfformat
from headway.model.instance import Instance
from headway.model.task import Task
from headway.model.workflow import Workflow
from tests.formats.instances import content, instances, workflows
from tests.formats.test_workflow_schema import validator


@given(workflows())
def test_a_workflow_file(workflow: Workflow) -> None:
    text = headway_yaml(workflow)
    read = parse_workflow(text)
    assert (read.name, list(read)) == (workflow.name, list(workflow))


@given(instances())
def test_wfformat(instance: Instance) -> None:
    assert content(parse_wfformat(wfformat(instance))) == content(instance)


@settings(max_examples=30)
@given(instances())
def test_ids_in_wfformat_have_only_the_characters_that_its_schema_allows(instance: Instance) -> None:
    specification = msgspec.json.decode(wfformat(instance))["workflow"]["specification"]
    for task in specification["tasks"]:
        for name in (task["id"], *task["parents"], *task["children"]):
            assert re.fullmatch(r"[0-9a-zA-Z_.#-]+", name)
        for name in (*task["inputFiles"], *task["outputFiles"]):
            assert re.fullmatch(r"[0-9a-zA-Z_./:#-]+", name)
    listed = {file["id"] for file in specification["files"]}
    assert listed >= {name for task in specification["tasks"] for name in (*task["inputFiles"], *task["outputFiles"])}


@settings(max_examples=40)
@given(workflows())
def test_pyyaml_reads_the_same_texts_and_the_schema_holds(workflow: Workflow) -> None:
    document = yaml.safe_load(headway_yaml(workflow))
    assert not [error.message for error in validator().iter_errors(document)]
    for task in workflow:
        entry = document["tasks"][task.id]
        assert entry.get("run", "") == task.command
        assert (*entry.get("outputs", ()), *entry.get("temp", ())) == task.outputs


@settings(max_examples=30)
@given(workflows())
def test_conversion_to_wfformat_and_back(workflow: Workflow) -> None:
    there = parse_wfformat(wfformat(Instance(parse_workflow(headway_yaml(workflow)))))
    assert list(parse_workflow(headway_yaml(there.workflow))) == list(workflow)


def test_malleable_tasks() -> None:
    flow = Workflow("w", [Task("a", "a", "x", malleable=True), Task("b", "b", "z")])
    text = headway_yaml(flow)
    assert text.decode() == "name: w\ntasks:\n  a:\n    run: x\n    malleable: true\n  b:\n    run: z\n"
    assert list(parse_workflow(text)) == list(flow)


def test_redundant_keys_are_not_written() -> None:
    flow = Workflow(
        "w",
        [
            Task("a", "a", "one\n  two\n", outputs=("x", "no")),
            Task("b", "b", "cat x | awk '{print $1}'", inputs=("x",), parents=("a",), hints={"memory_bytes": 2e9}),
            Task("c", "c", "true", parents=("b",)),
        ],
    )
    assert headway_yaml(flow).decode() == (
        "name: w\ntasks:\n"
        "  a:\n    run: |\n      one\n        two\n    outputs: [x, 'no']\n"
        "  b:\n    run: cat x | awk '{print $1}'\n    inputs: [x]\n    resources: {memory: 2 GB}\n"
        "  c:\n    run: 'true'\n    needs: [b]\n"
    )
