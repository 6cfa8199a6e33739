"""The JSON Schema and the reader agree."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from headway.formats.headway_yaml import TASK_KEYS, WORKFLOW_KEYS, parse_workflow, read_workflow
from headway.formats.hints import RESOURCE_KEYS
from headway.model.errors import HeadwayError

REPOSITORY = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("JSON schema")


def schema() -> dict[str, Any]:
    text = files("headway.formats").joinpath("workflow.schema.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Any])


@cache
def validator() -> Any:
    from jsonschema import Draft202012Validator  # takes seconds: only the worker that runs these tests pays

    Draft202012Validator.check_schema(schema())
    return Draft202012Validator(schema())


def documented() -> list[str]:
    text = (REPOSITORY / "docs" / "workflow-file.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [block if "tasks:" in block else "name: example\ntasks:\n" + block for block in blocks]


def shipped() -> list[Path]:
    return sorted(REPOSITORY.glob("examples/*/workflow.yaml"))


def test_the_schema_is_valid() -> None:
    assert validator().META_SCHEMA["$schema"] == schema()["$schema"]
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_has_the_readers_keys() -> None:
    task = schema()["$defs"]["task"]
    assert set(schema()["properties"]) == set(WORKFLOW_KEYS)
    assert set(schema()["required"]) == {"name", "tasks"}
    assert set(task["properties"]) == set(TASK_KEYS)
    assert set(task["properties"]["resources"]["properties"]) == set(RESOURCE_KEYS)


def test_every_key_is_explained() -> None:
    task = schema()["$defs"]["task"]["properties"]
    for properties in (schema()["properties"], task, task["resources"]["properties"]):
        for key, value in properties.items():
            assert len(value["description"]) > 8, key


@pytest.mark.parametrize("text", documented())
def test_the_documentations_examples_are_valid(text: str) -> None:
    assert not [error.message for error in validator().iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.parent.name)
def test_the_shipped_examples_are_valid_and_read(path: Path) -> None:
    assert not [error.message for error in validator().iter_errors(yaml.safe_load(path.read_bytes()))]
    assert len(read_workflow(path)) >= 1


def test_there_are_examples_for_every_key() -> None:
    used = {key for text in documented() for task in yaml.safe_load(text)["tasks"].values() for key in task}
    assert used == set(TASK_KEYS)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"run": []},
        {"run": "x", "input": "y"},
        {"run": "x", "inputs": {"a": "b"}},
        {"run": "x", "inputs": None},
        {"run": "x", "each": {}},
        {"run": "x", "each": {"p": "a"}},
        {"run": "x", "each": {"p": []}},
        {"run": "x", "each": "sample-list"},
        {"run": "x", "each": {"p": "1.."}},
        {"run": "x", "each": {"sheet": "a.csv", "files": "{b}"}},
        {"run": "x", "each": {"sheet": "a.csv", "where": "b"}},
        {"run": "x", "resources": {"cores": "four"}},
        {"run": "x", "each": {"p": ["a", "a"]}},
        {"run": "x", "each": {"a-b": ["a"]}},
        {"run": "x", "env": ["A=b"]},
        {"run": "x", "env": {"A=B": "c"}},
        {"run": "x", "retries": -1},
        {"run": "x", "retries": 1.5},
        {"run": "x", "sandbox": "maybe"},
        {"run": "x", "sandbox": "strict"},
        {"run": "x", "malleable": 4},
        {"run": "x", "notice": 4},
        {"run": "x", "shell": []},
        {"run": "x", "limit": {"gpus": 1}},
        {"run": "x", "limit": {"time": 90}},
        {"run": "x", "limit": "8 GB"},
        {"run": "x", "shell": " "},
        {"run": "x", "shell": {"bash": "-e"}},
        {"run": "x", "conda": []},
        {"run": "x", "conda": "-x"},
        {"run": "x", "uv": " "},
        {"run": "x", "modules": {"gcc": 12}},
        {"run": "x", "conda": "a.yaml", "pixi": "pixi.toml"},
        {"run": "x", "container": "alpine", "modules": "gcc"},
        {"run": "x", "notice": "soon"},
        {"run": "x", "priority": "high"},
        {"run": "x", "resources": {"time": 90}},
        {"run": "x", "resources": {"memory": 200}},
        {"run": "x", "resources": {"memory": "2 parsecs"}},
        {"run": "x", "resources": {"cores": 0}},
        {"run": "x", "resources": {"gpus": 1.5}},
        {"run": "x", "resources": {"nodes": 0}},
        {"run": "x", "resources": {"licence": "many"}},
        {"run": "x", "resources": {"a b": 1}},
    ],
)
def test_both_refuse(keys: dict[str, Any]) -> None:
    document = {"name": "w", "tasks": {"t": keys}}
    assert not validator().is_valid(document)
    with pytest.raises(HeadwayError):
        parse_workflow(yaml.safe_dump(document).encode())


@pytest.mark.parametrize("config", [[], {"a": {}}, {"a": []}, {"a-b": 1}, {"a": None}])
def test_both_refuse_the_config(config: Any) -> None:
    document = {"name": "w", "config": config, "tasks": {"t": {"run": "x"}}}
    assert not validator().is_valid(document)
    with pytest.raises(HeadwayError):
        parse_workflow(yaml.safe_dump(document).encode())


@pytest.mark.parametrize("name", ["-t", "a[b", "a]", "", " ", "a\tb", "a\u2028b", "n" * 201])
def test_both_refuse_the_name(name: str) -> None:
    document = {"name": "w", "tasks": {name: {"run": "x"}}}
    assert not validator().is_valid(document)
    with pytest.raises(HeadwayError):
        parse_workflow(yaml.safe_dump(document).encode())


TEXT = st.text("abc019 {}", min_size=1, max_size=6).filter(str.strip)
WORD = st.from_regex(r"[a-z]{1,6}", fullmatch=True)
COLUMN = st.from_regex(r"[d-z]{5,6}", fullmatch=True)  # no text is a misspelling of it
RANGE = st.sampled_from(["1..3", "01..10..4", "{words}"])
TASK = st.fixed_dictionaries(
    {"run": TEXT},
    optional={
        "each": st.dictionaries(
            COLUMN, st.lists(WORD, min_size=1, max_size=3, unique=True) | RANGE, min_size=1, max_size=2
        ),
        "inputs": TEXT | st.lists(TEXT),
        "env": st.dictionaries(WORD, TEXT | st.integers(0, 99) | st.booleans() | st.none()),
        "setup": TEXT | st.lists(TEXT),
        "container": WORD,
        "uv": WORD,
        "modules": WORD | st.lists(WORD),
        "priority": st.integers(-9, 9) | st.floats(-9, 9),
        "retries": st.integers(0, 9),
        "sandbox": st.booleans(),
        "malleable": st.booleans(),
        "notice": st.sampled_from(["45s", "90m", "05:00"]),
        "resources": st.fixed_dictionaries(
            {},
            optional={
                "cores": st.integers(1, 64) | st.floats(0.1, 64) | st.just("{number}"),
                "memory": st.sampled_from(["{number * 2} MB", "1 B", "200 MB", "1.5GiB", "3k", "1e3 kib"]),
                "disk": st.sampled_from(["2 TB", "7 pib"]),
                "time": st.sampled_from(["45s", "90m", "1h 30min", "1-02:00:00", "05:00", "2 days"]),
                "gpus": st.integers(0, 8) | st.sampled_from([0.25, 0.5]),
                "nodes": st.integers(1, 8),
                "licence": st.integers(0, 8),
            },
        ),
    },
).filter(lambda task: "container" not in task or not {"uv", "modules"} & task.keys())


@given(st.dictionaries(WORD, TASK, min_size=1, max_size=4))
def test_both_accept(tasks: dict[str, Any]) -> None:
    document = {"name": "w", "config": {"number": 2, "words": ["x", "y"]}, "tasks": tasks}
    assert not [error.message for error in validator().iter_errors(document)]
    assert {task.category for task in parse_workflow(yaml.safe_dump(document).encode())} == set(tasks)
