"""Environments and modules in the workflow file: which task has what, and which files count as inputs."""

from __future__ import annotations

import pytest
from msgspec import structs

from headway.formats.headway_yaml import parse_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.model.errors import InputError
from headway.model.task import Task
from headway.model.workflow import Workflow

FLOW = """
name: w
conda: env.yaml
modules: [gcc/12, samtools]
tasks:
  plain: {run: x}
  other: {run: x, uv: envs/uv.lock, inputs: [data]}
  bare: {run: x, conda: base, modules: []}
  boxed: {run: x, container: alpine}
  several: {each: {tool: [bwa, star]}, run: x, conda: "{tool}.yaml", modules: "{tool}/1"}
"""


def test_which_task_has_what() -> None:
    flow = parse_workflow(FLOW.encode())
    modules = ("gcc/12", "samtools")
    assert {name: task.software for name, task in flow.tasks.items()} == {
        "plain": {"conda": ("env.yaml",), "modules": modules},
        "other": {"uv": ("envs/uv.lock",), "modules": modules},
        "bare": {"conda": ("base",)},
        "boxed": {},
        "several[bwa]": {"conda": ("bwa.yaml",), "modules": ("bwa/1",)},
        "several[star]": {"conda": ("star.yaml",), "modules": ("star/1",)},
    }
    assert {name: task.inputs for name, task in flow.tasks.items() if task.inputs} == {
        "plain": ("env.yaml",),
        "other": ("data", "envs/uv.lock", "envs/pyproject.toml"),
        "several[bwa]": ("bwa.yaml",),
        "several[star]": ("star.yaml",),
    }
    written = {name: structs.replace(task, row="") for name, task in flow.tasks.items()}  # each task by itself
    assert parse_workflow(headway_yaml(flow)).tasks == written


def test_a_task_may_make_the_file_that_describes_an_environment() -> None:
    flow = Workflow("w", [Task("a", "a", "x", outputs=("env.yaml",))])
    assert flow.task("b", "x", software={"conda": "./env.yaml"}).parents == ("a",)


@pytest.mark.parametrize(
    ("software", "said"),
    [
        ({"anaconda": "x"}, "software has 'anaconda'"),
        ({"uv": "x", "venv": "y"}, "both uv and venv"),
        ({"uv": ["x", "y"]}, "('x', 'y') for 'uv'"),
        ({"modules": ["gcc", ""]}, "for 'modules'"),
    ],
)
def test_mistakes_in_python(software: dict[str, str | list[str]], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(").replace(")", r"\)")):
        Workflow("w").task("a", "x", software=software)
    with pytest.raises(InputError, match="both container and software"):
        Workflow("w").task("a", "x", container="alpine", software={"uv": "x"})
