"""Writes a `Workflow` as Headway's workflow file: one readable entry per task.

Reading the file gives equal tasks. Dependencies that follow from files are not written.
"""

from __future__ import annotations

from collections.abc import Iterator

from headway.formats.fields import WORD, Reader, short
from headway.formats.hints_out import duration_text, hint_text, number_text
from headway.formats.yaml_text import block_text, inline, key_text
from headway.model.errors import InputError
from headway.model.task import Task
from headway.model.workflow import Workflow

_WIDTH = 100  # longer lists are written with one item per line
_INDENT = "    "


def headway_yaml(workflow: Workflow) -> bytes:
    """The workflow as YAML; an InputError if the file format cannot express it, such as a name that begins with `-`.

    >>> print(headway_yaml(Workflow("w", [Task("sort[7]", "sort", "sort a > b", outputs=("b",))])).decode(), end="")
    name: w
    tasks:
      sort[7]:
        category: sort
        run: sort a > b
        outputs: [b]
    """
    if not workflow.tasks:
        raise InputError(f"workflow {workflow.name!r} has no tasks", todo="a workflow file needs at least one")
    _check_name(workflow.name, "the workflow's name")
    lines = [f"name: {inline(workflow.name)}", "tasks:"]
    for task in workflow:
        lines += _entry(task, workflow)
    return ("\n".join(lines) + "\n").encode()


def _entry(task: Task, workflow: Workflow) -> Iterator[str]:
    owner = f"task {short(task.id)}"
    _check_name(task.id, "the task name")
    yield from key_text(task.id)
    if task.category != task.id or not task.command.strip() or "[" in task.id or "]" in task.id:
        _check_name(task.category, f"the category of {owner}")
        yield f"{_INDENT}category: {inline(task.category)}"
    if task.command.strip():
        yield from block_text("run", task.command)
    yield from _listing("inputs", task.inputs)
    yield from _listing("outputs", task.outputs)
    yield from _listing("needs", _needs(task, workflow))
    if task.environment:
        yield f"{_INDENT}env:"
        for name, value in task.environment.items():
            if not WORD.fullmatch(name):
                what = f"{short(name)} in the environment of {owner} is not a valid variable name"
                raise InputError(what, todo="rename it")
            yield f"{_INDENT}  {name}: {inline(value)}"
    yield from _listing("shell", task.shell)
    yield from _listing("setup", task.setup)
    if task.container is not None:
        _check_name(task.container, f"the container of {owner}", longest=4096)
        yield f"{_INDENT}container: {inline(task.container)}"
    yield from _software(task, owner)
    if task.hints:
        amounts = [hint_text(name, value, owner) for name, value in task.hints.items()]
        yield f"{_INDENT}resources: {{{', '.join(amounts)}}}"
    if task.priority:
        yield f"{_INDENT}priority: {number_text(task.priority)}"
    if task.retries:
        yield f"{_INDENT}retries: {task.retries}"
    if not task.sandbox:
        yield f"{_INDENT}sandbox: false"
    if task.malleable:
        yield f"{_INDENT}malleable: true"
    if task.notice_s:
        yield f"{_INDENT}notice: {duration_text(task.notice_s)}"


def _software(task: Task, owner: str) -> Iterator[str]:
    for kind, names in task.software.items():
        for name in names:
            _check_name(name, f"{kind!r} of {owner}", longest=4096)
        yield from _listing(kind, names) if kind == "modules" else [f"{_INDENT}{kind}: {inline(names[0])}"]


def _needs(task: Task, workflow: Workflow) -> tuple[str, ...]:
    """The parents to list under `needs`: without those that files imply, unless the order of parents requires them."""
    place = {parent: index for index, parent in enumerate(workflow.implied_parents(task))}
    count, next_place = len(task.parents), len(place)
    while count and place.get(task.parents[count - 1], next_place) < next_place:
        count -= 1
        next_place = place[task.parents[count]]
    return task.parents[:count]


def _listing(key: str, items: tuple[str, ...]) -> Iterator[str]:
    if not items:
        return
    texts = [inline(item) for item in items]
    line = f"{_INDENT}{key}: [{', '.join(texts)}]"
    if len(line) <= _WIDTH:
        yield line
    else:
        yield f"{_INDENT}{key}:"
        yield from (f"{_INDENT}  - {text}" for text in texts)


def _check_name(text: str, what: str, longest: int = 200) -> None:
    """Check a name by the reader's rules."""
    try:
        Reader("").name(text, 0, what, longest)
    except InputError as problem:
        raise InputError(problem.what, todo=problem.todo) from None
