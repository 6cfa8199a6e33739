"""The key `category` of a workflow file, with which an entry names one task in full."""

from __future__ import annotations

import pytest

from headway.formats.headway_yaml import parse_workflow
from headway.formats.headway_yaml_out import headway_yaml
from headway.model.errors import InputError
from headway.model.task import Task
from headway.model.workflow import Workflow

BOTH = """\
name: w
tasks:
  sort[7]:
    category: sort
    run: sort a > b
    outputs: b
  sort:
    each: {n: [1, 2]}
    run: sort {n}
  done:
    needs: ["sort[7]", sort]
    run: cat b
    inputs: b
  known[{n}]:
    category: known
"""


def test_an_entry_is_one_task_of_that_category() -> None:
    tasks = parse_workflow(BOTH.encode()).tasks
    assert {task.id: task.category for task in tasks.values()} == {
        "sort[7]": "sort",
        "sort[1]": "sort",
        "sort[2]": "sort",
        "done": "done",
        "known[{n}]": "known",
    }
    assert tasks["done"].parents == ("sort[7]", "sort[1]", "sort[2]")
    assert tasks["known[{n}]"].command == ""


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a[1]: {run: x}", 3, ["bracket", "category"]),
        ("a:\n    category: b\n    run: x\n    each: {n: [1]}", 6, ["'category' and 'each'"]),
        ("a:\n    category:\n    run: x", 4, ["'category' of task 'a' is empty"]),
        ("a:\n    category: [b]\n    run: x", 4, ["list"]),
        ("a:\n    category: -b\n    run: x", 4, ["category of task 'a'", "begins with '-'"]),
        ("a:\n    category: b\n    run: ''", 5, ["'run' of task 'a' is empty"]),
        ("a: {inputs: x}", 3, ["no command"]),
        ("a[1]: {category: a, run: x}\n  a: {each: {n: [1]}, run: x}", 3, ["two tasks", "'a[1]'"]),
        ("a[1]: {category: a, run: x, needs: a}", 3, ["needs 'a', which does not exist"]),
        ("'a[1]': {category: a, run: x, needs: 'a[1]'}", 3, ["needs itself"]),
    ],
)
def test_errors_name_line_and_culprit(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        parse_workflow(f"name: w\ntasks:\n  {text}\n".encode(), "w.yaml")
    assert str(problem.value).startswith(f"w.yaml:{line}: "), problem.value
    assert all(word in str(problem.value) for word in words), problem.value


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (Task("-x", "x", "true"), ["task name '-x' begins with '-'"]),
        (Task("x" * 201, "x", "true"), ["longer than 200"]),
        (Task("x", "a\tb", "true"), ["category of task 'x'", "control"]),
        (Task("x", "x", "true", environment={"a b": "c"}), ["'a b' in the environment of task 'x'"]),
        (Task("x", "x", "true", hints={"memory_bytes": 0}), ["task 'x'", "nothing"]),
        (Task("x", "x", "true", hints={"memory_bytes": 1.5}), ["1.5", "cannot express"]),
        (Task("x", "x", "true", hints={"mem": 2}), ["'mem'", "did you mean 'memory'?"]),
        (Task("x", "x", "true", container=" "), ["container of task 'x'", "empty"]),
    ],
)
def test_inexpressible_workflows_are_refused(task: Task, words: list[str]) -> None:
    with pytest.raises(InputError) as problem:
        headway_yaml(Workflow("w", [task]))
    assert all(word in str(problem.value) for word in words), problem.value


def test_a_name_of_the_greatest_length_is_a_key() -> None:
    name = "\ufeff" * 200  # each of these takes six characters
    assert list(parse_workflow(headway_yaml(Workflow("w", [Task(name, name, "true")]))).tasks) == [name]
