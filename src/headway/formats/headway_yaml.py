"""Headway's workflow file: YAML with a `name` and `tasks`; see docs/workflow-file.md.

Every mistake in a file is reported in one sentence that says where it is and what to do.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Collection, Iterable
from collections.abc import Mapping as Given
from itertools import chain, repeat
from pathlib import Path
from posixpath import normpath
from typing import Any, NoReturn

import msgspec
from msgspec import Struct, field, structs

from headway.formats.config import Value, read_config
from headway.formats.deferring import deferred_blocks, sheets_of
from headway.formats.each import Each, Row, Template, table
from headway.formats.fields import WORD, Reader, did_you_mean, short
from headway.formats.hints import RESOURCE_KEYS, read_duration, read_hints, read_limits
from headway.formats.own_names import OwnNames
from headway.formats.read_each import SAMPLES, EachReader
from headway.formats.safe_yaml import Entry, Mapping, Text, parse_yaml, shown
from headway.formats.sheets import Sheet
from headway.formats.software import Entries, read_software, software_column
from headway.formats.taken import Taken, input_items, nothing_fits
from headway.formats.unknown_names import check_names, told
from headway.formats.unpacked import read_unpacked
from headway.formats.varying_amounts import VaryingAmounts, has_braces
from headway.formats.wishes import read_wish
from headway.model.deferred import Deferred
from headway.model.errors import WorkflowError
from headway.model.job import WISH_KEYS, Wish
from headway.model.limits import MOST_RETRIES
from headway.model.software import KINDS
from headway.model.task import Task, is_shell
from headway.model.workflow import Workflow

WORKFLOW_KEYS = ("name", "config", SAMPLES, "tasks", "shell", "sandbox", *KINDS)
_REQUIRED_KEYS = ("name", "tasks")


def _read_shell(reader: Reader, entry: Entry, field: str, _: str) -> tuple[str, ...]:
    """Read an interpreter with its flags: a text as in a shell, or a list of words."""
    texts = reader.texts(entry, field)
    words = [text.text for text in texts]
    if isinstance(entry.value, Text):
        try:
            words = shlex.split(words[0])
        except ValueError:
            raise reader.error(entry.line, f"{field} has an open quote", "close it") from None
    if not words or not words[0]:
        raise reader.error(entry.line, f"{field} names no program", "write for example 'shell: python3'")
    return tuple(words)


def _read_sandbox(reader: Reader, keys: dict[str, Entry], field: str) -> dict[str, bool]:
    """Read the two fields of a task that say what it sees: `strict`, true or false."""
    if "sandbox" not in keys:  # the workflow's `sandbox: strict` is for tasks that have a sandbox
        return {} if "outputs" in keys or "temp" in keys else {"strict": False}
    entry = keys["sandbox"]
    strict = isinstance(entry.value, Text) and entry.value.text.lower() == "strict"
    return {"sandbox": strict or reader.flag(entry, field, "strict"), "strict": strict}


def _read_retries(reader: Reader, entry: Entry, field: str, _: str) -> int:
    return int(reader.number(entry, field, least=0, most=MOST_RETRIES, whole=True))


# Keys whose values are the same for all tasks of an entry: the field of `Task`, and how it is read.
_SHARED: dict[str, tuple[str, Callable[[Reader, Entry, str, str], object]]] = {
    "shell": ("shell", _read_shell),
    "priority": ("priority", lambda reader, entry, field, _: reader.number(entry, field)),
    "retries": ("retries", _read_retries),
    "malleable": ("malleable", lambda reader, entry, field, _: reader.flag(entry, field)),
    "notice": ("notice_s", lambda reader, entry, field, _: read_duration(reader, entry, field)),
    "gpu-memory-errors": (
        "gpu_memory_errors",
        lambda reader, entry, field, _: tuple(text.text for text in reader.texts(entry, field)),
    ),
}
# Keys whose amounts may differ between the tasks of an entry.
_AMOUNTS = {"resources": ("hints", read_hints), "limit": ("limits", read_limits)}
_TEXTS = ("inputs", "outputs", "temp", "needs", "env", "setup", "container")
TASK_KEYS = ("run", "each", *_TEXTS, *KINDS, *_AMOUNTS, *_SHARED, "sandbox", *WISH_KEYS, "category")

MAX_BYTES = 100_000_000
# A mistake in `each` must not fill the memory: three lists of 1,000 values make 10^9 tasks.
MAX_TASKS = 1_000_000
MAX_LINKS = 10_000_000  # paths and needs, counted once per task
MAX_CHARACTERS = 1_000_000_000  # of all texts that `each` fills in


def read_workflow(
    path: Path, config: Given[str, Value] | None = None, is_stray: Callable[[str], bool] = lambda path: False
) -> Workflow:
    """The workflow in the file at `path`; an InputError with file and line if there is none.

    `config` has values that replace those of the key `config`. A file of which `is_stray` says that an earlier run made
    it is none of the files that `each` looks for.
    """
    data = read_unpacked(path, MAX_BYTES, "generate the tasks with 'each'")
    return parse_workflow(data, shown(path), path.parent, config, is_stray)


def parse_workflow(
    data: bytes,
    file: str = "workflow.yaml",
    directory: Path | None = None,
    config: Given[str, Value] | None = None,
    is_stray: Callable[[str], bool] = lambda path: False,
) -> Workflow:
    """Parse a workflow file; `file` is its name in errors, sample sheets are looked up in `directory`.

    >>> flow = parse_workflow(b"name: w\\ntasks: {hello: {run: echo hello}}")
    >>> flow.tasks["hello"].command
    'echo hello'
    """
    read = _File(data, file, directory or Path(), config or {}, is_stray)
    deferred = deferred_blocks(read.reader, read.entries, read.eaches)
    blocks = {name: read.block(name) for name in read.entries if name not in {block.name for block in deferred}}
    _check_sizes(read.reader, blocks)
    workflow = _assemble(read, blocks)
    read.eaches.check_outputs(workflow)
    if deferred:
        wishes = {block.name: _wish_and_hints(read, block.name) for block in deferred}
        found = [structs.replace(block, wish=wishes[block.name][0], hints=wishes[block.name][1]) for block in deferred]
        for each in sheets_of(read.reader, read.entries, deferred):
            read.eaches.read(each, "a task")
        sheets = {name: msgspec.to_builtins(sheet) for name, sheet in read.eaches.sheets.items()}
        text = data.decode("utf-8-sig", errors="replace")
        workflow.deferred = Deferred(tuple(found), file, text, dict(config or {}), sheets)
    workflow.warnings, workflow.config = told(read.reader), read.eaches.config.values
    workflow.sheets = frozenset(map(normpath, read.eaches.sheets))
    return workflow


def expand_block(
    deferred: Deferred,
    name: str,
    so_far: Workflow,
    directory: Path,
    is_stray: Callable[[str], bool] = lambda path: False,
    temporary: Collection[str] = (),
) -> list[Task]:
    """Return the tasks of a deferred entry, now that the tasks that it waits for have made its rows or files.

    A file of which `is_stray` says that an earlier run made it, and no task of this one, is none of these files;
    `temporary` files are, although they may be gone.
    """
    read = _File(deferred.text.encode(), deferred.file, directory, deferred.config, is_stray, growing=True)
    read.eaches.temporary = temporary
    read.eaches.sheets = {key: msgspec.convert(sheet, Sheet) for key, sheet in deferred.sheets.items()}
    block = read.block(name)
    _check_sizes(read.reader, {name: block})
    others = _Others(read.reader, {name: block}, so_far)
    others.ids = {other: others.ids.get(other, []) for other in read.entries}  # an entry may have no tasks
    return _write_out(block, others.ids[name], others, {})


class _File:
    """A workflow file whose keys have been read, and whose tasks have not."""

    def __init__(
        self,
        data: bytes,
        file: str,
        directory: Path,
        config: Given[str, Value],
        is_stray: Callable[[str], bool] = lambda path: False,
        *,
        growing: bool = False,
    ) -> None:
        self.reader = reader = Reader(file)
        top = reader.mapping(Entry(1, parse_yaml(data, file)), "the file", "'name: words', and 'tasks:' below it")
        reader.check_keys(top, WORKFLOW_KEYS, "a workflow", TASK_KEYS, "inside a task")
        for key in _REQUIRED_KEYS:
            if key not in top:
                raise reader.error(1, f"the key {key!r} is missing", f"add {key}: at the left margin")
        title = reader.value(top["name"], "'name'")
        self.name = reader.name(title.text, title.line, "the workflow's name")
        self.entries = reader.mapping(top["tasks"], "'tasks'", "'hello:' with 'run: echo hello' below it")
        if not self.entries:
            raise reader.error(top["tasks"].line, "'tasks' is empty", "add at least one task")
        self._shared: dict[str, Any] = {**_read_sandbox(reader, top, "'sandbox'")}
        if "shell" in top:
            self._shared["shell"] = _read_shell(reader, top["shell"], "'shell'", "")
        values = read_config(reader, top, config)
        self.eaches = EachReader(reader, values, directory, top.get(SAMPLES), is_stray, growing=growing)
        self._software = read_software(reader, top, "the workflow", self.eaches.none, [])
        check_names(reader, top, "the workflow", self.eaches.none)

    def block(self, name: str) -> _Block:
        """Read the tasks of one entry."""
        entry = self.entries[name]
        block = _read_block(self.reader, name, entry, self._shared, self._software, self.eaches)
        if len(block.each):  # without rows its names may be unknown
            keys = self.reader.mapping(entry, block.owner, "")
            check_names(self.reader, keys, block.owner, block.each, in_shell=is_shell(block.shared.get("shell", ())))
        return block


class _Block(Struct):
    """One entry of `tasks`, checked but not yet expanded."""

    name: str
    category: str
    line: int
    each: Each
    inputs: list[Template | Taken]
    outputs: list[Template]
    run: Template
    setup: list[Template]
    own: OwnNames  # that `run` and `setup` use
    wide: Each  # `each` with these names
    temp: list[Template] = field(default_factory=list)
    needs: list[tuple[int, Template]] = field(default_factory=list)  # with their lines
    env: dict[str, Template] = field(default_factory=dict)
    container: Template | None = None
    software: Entries = field(default_factory=list)
    varying: dict[str, VaryingAmounts] = field(default_factory=dict)  # by field of the tasks
    shared: dict[str, Any] = field(default_factory=dict)  # fields of the tasks that do not depend on `each`

    @property
    def owner(self) -> str:
        return f"task {short(self.name)}"

    @property
    def row(self) -> Template:
        """The names of `each` with their values, as `Task.row` has them."""
        return self.each.template("\t".join(f"{name}={{{name}}}" for name in self.each.names))

    def templates(self) -> list[Template]:
        """All texts that may contain placeholders."""
        single = [self.run, self.row, *([self.container] if self.container else [])]
        named = [template for _, template in (*self.needs, *self.software)]
        inputs = [file for file in self.inputs if isinstance(file, Template)]
        return [*single, *inputs, *self.outputs, *self.temp, *self.setup, *self.env.values(), *named]


# --- reading one task ---


def _read_block(
    reader: Reader, name: str, entry: Entry, shared: dict[str, Any], software: Entries, eaches: EachReader
) -> _Block:
    reader.name(name, entry.line, "the task name")
    owner = f"task {short(name)}"
    in_full = isinstance(entry.value, Mapping) and "category" in entry.value.entries  # the name is that of one task
    if not in_full and ("[" in name or "]" in name):
        todo = "rename the task, or add a key 'category' if this is the name of just one"
        raise reader.error(entry.line, f"the task name {short(name)} has a bracket", todo)
    keys = reader.mapping(entry, owner, "'run: echo hello' below its name")
    reader.check_keys(keys, TASK_KEYS, owner, RESOURCE_KEYS, "under 'resources'")
    if in_full and "each" in keys:
        what = f"{owner} has both 'category' and 'each'"
        raise reader.error(keys["each"].line, what, "remove 'category': with 'each' the name is the category")
    if "run" not in keys and not in_full:
        raise reader.error(entry.line, f"{owner} has no command", "add a key 'run'")
    each = eaches.read(keys["each"], owner) if "each" in keys else eaches.none

    def texts(key: str) -> list[Text]:
        return reader.texts(keys[key], f"{key!r} of {owner}") if key in keys else []

    def listed(key: str) -> list[tuple[int, Template]]:
        """The items of a list with their lines; a name of a list in `config` stands for all its values."""
        return [(item.line, each.template(text)) for item in texts(key) for text in eaches.expanded(item, each)]

    category = name
    if in_full:
        text = reader.value(keys["category"], f"'category' of {owner}")
        category = reader.name(text.text, text.line, f"the category of {owner}")
    inputs, auto_inputs = _read_inputs(reader, keys, each, owner, eaches)
    shared = shared | {"auto_inputs": auto_inputs} | _read_sandbox(reader, keys, f"'sandbox' of {owner}")
    for key, (member, read) in _SHARED.items():
        if key in keys:
            shared[member] = read(reader, keys[key], f"{key!r} of {owner}", owner)
    outputs, temp = ([template for _, template in listed(key)] for key in ("outputs", "temp"))
    command = reader.text(keys["run"], f"'run' of {owner}").text if "run" in keys else ""
    if "run" in keys and not command.strip():
        raise reader.error(keys["run"].line, f"'run' of {owner} is empty", "write the command")
    # The setup always runs in a shell; the program of another interpreter has braces of its own.
    in_shell = is_shell(shared.get("shell", ()))
    setup = [text.text for text in texts("setup")]
    own = OwnNames([] if in_full else [*setup, *([command] if in_shell else [])], each, inputs, [*outputs, *temp])
    own.check(reader, entry.line, owner)
    wide = own.widened()
    run, setups = (wide if in_shell else each).template(command), list(map(wide.template, setup))
    block = _Block(name, category, entry.line, each, inputs, outputs, run, setups, own, wide, temp, shared=shared)
    block.needs = listed("needs")
    block.env = _read_environment(reader, keys, each, owner)
    block.software = read_software(reader, keys, owner, each, software)
    if "container" in keys:
        image = reader.value(keys["container"], f"'container' of {owner}")
        reader.name(image.text, keys["container"].line, f"the container of {owner}", longest=4096)
        block.container = each.template(image.text)
    for key, (member, read_amounts) in _AMOUNTS.items():
        if key in keys and has_braces(keys[key]):
            block.varying[member] = VaryingAmounts(reader, keys[key], f"{key!r} of {owner}", each, read_amounts)
        elif key in keys:
            shared[member] = read_amounts(reader, keys[key], owner)
    has_gpus = "hints" in block.varying or shared.get("hints", {}).get("gpus")
    shared["wish"] = read_wish(reader, keys, owner, has_gpus=bool(has_gpus))
    _check_notice(reader, keys.get("notice", entry), shared, owner)
    return block


def _read_inputs(
    reader: Reader, keys: dict[str, Entry], each: Each, owner: str, eaches: EachReader
) -> tuple[list[Template | Taken], bool]:
    """The inputs of a task, and whether `auto` is among them."""
    items = input_items(reader, keys["inputs"], f"'inputs' of {owner}", each) if "inputs" in keys else []
    inputs: list[Template | Taken] = []
    auto = False
    for item in items:
        if isinstance(item, Taken):
            inputs.append(item)
        elif item.text == "auto":
            auto = True
        else:
            inputs += map(each.template, eaches.expanded(item, each))
    return inputs, auto


def _check_notice(reader: Reader, entry: Entry, shared: dict[str, Any], owner: str) -> None:
    if shared.get("notice_s", 0) >= shared.get("limits", {}).get("walltime_s", math.inf):
        what = f"'notice' of {owner} is not shorter than its time under 'limit': the signal would come at once"
        raise reader.error(entry.line, what, "state a shorter notice, or a longer limit")


def _read_environment(reader: Reader, keys: dict[str, Entry], each: Each, owner: str) -> dict[str, Template]:
    if "env" not in keys:
        return {}
    variables = reader.mapping(keys["env"], f"'env' of {owner}", "{LC_ALL: C}")
    env = {}
    for name, entry in variables.items():
        if not WORD.fullmatch(name):
            what = f"{short(name)} in 'env' of {owner} is not a valid variable name"
            raise reader.error(entry.line, what, "use letters, digits and '_'")
        if isinstance(entry.value, Text) and entry.value.missing:  # a variable may be empty, as in the shell
            env[name] = each.template("")
        else:
            env[name] = each.template(reader.text(entry, f"{name!r} in 'env' of {owner}").text)
    return env


# --- expanding all tasks ---


def _check_sizes(reader: Reader, blocks: dict[str, _Block]) -> None:
    """Raise an error for a workflow that would take too much time or memory, before expanding it."""
    tasks = links = characters = 0
    for block in blocks.values():
        count = len(block.each)
        tasks += count
        links += count * (len(block.inputs) + len(block.outputs) + len(block.temp) + len(block.needs))
        filled = [template for template in block.templates() if template.places]
        characters += count * (sum(map(block.wide.longest, filled)) + block.each.longest_id())
        for amount, limit, unit in (
            (tasks, MAX_TASKS, "tasks"),
            (links, MAX_LINKS, "paths and needs of tasks"),
            (characters, MAX_CHARACTERS, "characters of text"),
        ):
            if amount > limit:
                what = f"with {block.owner} there are {amount:,} {unit}, more than {limit:,}"
                raise reader.error(block.line, what, "use fewer values")


def _assemble(read: _File, blocks: dict[str, _Block]) -> Workflow:
    others = _Others(read.reader, blocks)
    texts: dict[str, str] = {}
    tasks = [task for block in blocks.values() for task in _write_out(block, others.ids[block.name], others, texts)]
    places = {name: f"{read.reader.file}:{entry.line}" for name, entry in read.entries.items()}
    try:
        workflow = Workflow(read.name, tasks)
        if len(blocks) == len(read.entries):  # otherwise tasks to come may read temporary outputs
            workflow.check_temporary()
    except WorkflowError as problem:
        culprit = next(iter(problem.tasks), "")
        name = next((name for name in blocks if culprit in others.ids[name]), next(iter(blocks)))
        problem.where = places[name]
        raise
    workflow.places = places
    return workflow


def _wish_and_hints(read: _File, name: str) -> tuple[Wish | None, dict[str, float]]:
    """What tasks to come ask of their jobs and state of their needs, as far as that is the same for all of them."""
    keys = read.reader.mapping(read.entries[name], f"task {short(name)}", "'run: echo hello' below its name")
    stated = keys.get("resources")
    hints = read_hints(read.reader, stated, f"task {short(name)}") if stated and not has_braces(stated) else {}
    return read_wish(read.reader, keys, f"task {short(name)}", has_gpus=stated is not None), hints


def _write_out(block: _Block, ids: list[str], others: _Others, texts: dict[str, str]) -> list[Task]:
    """The tasks of a block; values that are equal for all of them are shared, equal rows of all blocks in `texts`."""
    rows = block.each.rows()
    inputs, outputs = others.inputs(block, rows), list(table([*block.outputs, *block.temp], rows))
    command_rows = block.own.added_to(rows, ids, inputs, outputs)
    environments = (
        (dict(zip(block.env, row, strict=True)) for row in table(list(block.env.values()), rows))
        if any(template.places for template in block.env.values())
        else repeat({name: template.text for name, template in block.env.items()})
    )
    containers = block.container.column(rows) if block.container else repeat(None)
    columns = zip(
        ids,
        repeat(block.category),
        block.run.column(command_rows),
        environments,
        table(block.setup, command_rows),
        containers,
        software_column(block.software, rows),
        inputs,
        table(block.outputs, rows),
        others.parents(block, rows),
        (texts.setdefault(text, text) for text in block.row.column(rows)),
        strict=False,  # shared columns are infinite
    )  # in the order of the fields of `Task`
    shared = {"hints": {}, **block.shared}  # one dictionary of hints for all tasks
    varying: dict[str, Iterable[Any]] = {name: amounts.column(rows, ids) for name, amounts in block.varying.items()}
    if block.temp:
        varying["temp"] = table(block.temp, rows)
    if not varying:
        return [Task(*row, **shared) for row in columns]
    own = (dict(zip(varying, each, strict=True)) for each in zip(*varying.values(), strict=True))
    return [Task(*row, **(shared | each)) for row, each in zip(columns, own, strict=False)]


class _Others:
    """The tasks of all entries: what the entries of `needs` and of `from` stand for.

    `so_far` are tasks that the run has already, if it goes on.
    """

    def __init__(self, reader: Reader, blocks: dict[str, _Block], so_far: Workflow | None = None) -> None:
        self.reader = reader
        self.blocks = blocks
        self.ids: dict[str, list[str]] = {}
        for task in so_far or ():
            self.ids.setdefault(task.category, []).append(task.id)
        self.so_far = so_far
        self.ids |= {name: block.each.ids(name) for name, block in blocks.items()}
        self.known = {task_id for category in self.ids.values() for task_id in category}
        self.outputs: dict[str, Row] = {}  # of the tasks of categories that were asked for
        self.links = 0

    def inputs(self, block: _Block, rows: list[Row]) -> list[Row]:
        """For each row, the inputs of its task."""
        templates = [file for file in block.inputs if isinstance(file, Template)]
        if len(templates) == len(block.inputs):
            return list(table(templates, rows))
        columns = [
            [(text,) for text in file.column(rows)] if isinstance(file, Template) else self.taken(file, block, rows)
            for file in block.inputs
        ]
        return [tuple(chain.from_iterable(parts)) for parts in zip(*columns, strict=True)]

    def taken(self, taken: Taken, block: _Block, rows: list[Row]) -> list[Row]:
        """For each row, the files that it takes from other tasks."""
        if not taken.task.places:
            return [self.files(taken, taken.task.text, block, len(rows))] * len(rows)
        return [self.files(taken, name, block, 1) for name in taken.task.column(rows)]

    def files(self, taken: Taken, name: str, block: _Block, times: int) -> Row:
        """The files of a category, or of one task, for so many tasks."""
        ids = self.named(name, block, taken.line, times, "takes files from")
        made = [self.outputs_of(task_id) for task_id in ids]
        found = tuple(path for outputs in made for path in taken.of(outputs))
        if ids and not found:
            raise self.reader.error(taken.line, *nothing_fits(taken, name, [path for each in made for path in each]))
        return found

    def outputs_of(self, task_id: str) -> Row:
        if task_id not in self.outputs and self.so_far is not None and task_id in self.so_far.tasks:
            self.outputs[task_id] = self.so_far.tasks[task_id].outputs
        elif task_id not in self.outputs:
            name = next(name for name, ids in self.ids.items() if task_id in ids)
            block = self.blocks[name]
            made = table([*block.outputs, *block.temp], block.each.rows())
            self.outputs |= zip(self.ids[name], made, strict=False)
        return self.outputs[task_id]

    def parents(self, block: _Block, rows: list[Row]) -> list[Row]:
        """For each row, the ids of the tasks that it depends on."""
        shared = [
            task_id
            for line, need in block.needs
            if not need.places
            for task_id in self.named(need.text, block, line, len(rows))
        ]
        own = [(line, need) for line, need in block.needs if need.places]
        if not own:
            return [tuple(shared)] * len(rows)
        columns = zip(*(need.column(rows) for _, need in own), strict=True)
        return [
            (
                *shared,
                *(i for (line, _), text in zip(own, row, strict=True) for i in self.named(text, block, line, 1)),
            )
            for row in columns
        ]

    def named(self, text: str, block: _Block, line: int, times: int, verb: str = "needs") -> list[str]:
        """The task ids that `text` names; `times` tasks will depend on each."""
        if text == block.name:
            raise self.reader.error(line, f"{block.owner} {verb} itself", "name another task")
        if text in self.ids:
            found = self.ids[text]
        else:
            found = [text] if text in self.known else self.unknown(text, block, line, verb)
        self.links += times * len(found)
        if self.links > MAX_LINKS:
            what = f"with {block.owner} there are more than {MAX_LINKS:,} dependencies between tasks"
            todo = "put one task in between that needs all of them and is needed by the rest"
            raise self.reader.error(line, what, todo)
        return found

    def unknown(self, text: str, block: _Block, line: int, verb: str) -> NoReturn:
        category = text.partition("[")[0]
        if category in self.ids:
            several = ", …" if len(self.ids[category]) > 3 else ""
            todo = f"its tasks are {', '.join(self.ids[category][:3])}{several}"
        elif len(self.ids) > 1:
            others = [other for other in self.ids if other != block.name]
            todo = did_you_mean(text, others[:10_000], "the other tasks are")
        else:
            todo = "add that task or remove the need"
        what = f"{block.owner} {verb} {short(text)}, which does not exist"
        raise WorkflowError(what, tasks=[block.name], where=f"{self.reader.file}:{line}", todo=todo)
