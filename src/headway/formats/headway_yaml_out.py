"""Writes a `Workflow` as Headway's workflow file: one readable entry per task.

Reading the file gives equal tasks. Dependencies that follow from files are not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headway.formats.fields import WORD, Reader, short
from headway.formats.hints import read_hints
from headway.formats.own_names import OWN_NAME
from headway.formats.safe_yaml import Entry, Mapping, Text
from headway.model.errors import InputError
from headway.model.task import Task
from headway.model.workflow import Workflow

_READER = Reader("")  # for its rules
_WIDTH = 100  # longer lists are written with one item per line
_INDENT = "    "

_KEYS = {"memory_bytes": "memory", "disk_bytes": "disk", "walltime_s": "time"}
_BYTES = (("TB", 10**12), ("GiB", 1024**3), ("GB", 10**9), ("MiB", 1024**2), ("MB", 10**6), ("kB", 1000), ("B", 1))
_SECONDS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

_LONGEST_KEY = 1000  # YAML's own limit for `key:` is 1024

# Safe in lists too, and never read as a number, a date or a boolean.
_PLAIN = re.compile(r"(?=.*[A-Za-z/])[A-Za-z0-9_./][A-Za-z0-9_./+=@%~^-]*(?: [A-Za-z0-9_./+=@%~^-]+)*")
_TAKEN_FOR_ELSE = re.compile(
    r"(?i:y|n|yes|no|on|off|true|false|null|none|[.](?:inf|nan)|[0-9.]+e[+-]?[0-9]+|0[xob][0-9a-f_]+)"
)
# Safe after `key: `, where most characters are allowed.
_LINE = re.compile(r"(?!.*(?:: | #|:$| $))[A-Za-z_./$(][\x20-\x7e]*")
_PRINTABLE = re.compile("[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")


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
    _READER.name(workflow.name, 0, "the workflow's name")
    lines = [f"name: {inline(workflow.name)}", "tasks:"]
    for task in workflow:
        lines += _entry(task, workflow)
    return ("\n".join(lines) + "\n").encode()


def _entry(task: Task, workflow: Workflow) -> Iterator[str]:
    owner = f"task {short(task.id)}"
    _READER.name(task.id, 0, "the task name")
    yield from key_text(task.id)
    literal = any(map(OWN_NAME.search, (task.command, *task.setup)))  # with `category` it is not filled in
    if task.category != task.id or not task.command.strip() or "[" in task.id or "]" in task.id or literal:
        _READER.name(task.category, 0, f"the category of {owner}")
        yield f"{_INDENT}category: {inline(task.category)}"
    if task.command.strip():
        yield from block_text("run", task.command)
    inputs = tuple("./auto" if path == "auto" else path for path in task.inputs)
    yield from _listing("inputs", ("auto", *inputs) if task.auto_inputs else inputs)
    yield from _listing("outputs", tuple(path for path in task.outputs if path not in task.temp))
    yield from _listing("temp", task.temp)
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
        _READER.name(task.container, 0, f"the container of {owner}", longest=4096)
        yield f"{_INDENT}container: {inline(task.container)}"
    yield from _software(task, owner)
    yield from _amounts("resources", task.hints, owner)
    yield from _amounts("limit", task.limits, owner)
    for key, name in (task.wish.stated() if task.wish else {}).items():
        yield f"{_INDENT}{key}: {inline(name)}"
    if task.priority:
        yield f"{_INDENT}priority: {number_text(task.priority)}"
    if task.retries:
        yield f"{_INDENT}retries: {task.retries}"
    if task.strict or not task.sandbox:
        yield f"{_INDENT}sandbox: {'strict' if task.strict else 'false'}"
    if task.malleable:
        yield f"{_INDENT}malleable: true"
    if task.notice_s:
        yield f"{_INDENT}notice: {duration_text(task.notice_s)}"
    yield from _listing("gpu-memory-errors", task.gpu_memory_errors)


def _software(task: Task, owner: str) -> Iterator[str]:
    for kind, names in task.software.items():
        for name in names:
            _READER.name(name, 0, f"{kind!r} of {owner}", longest=4096)
        yield from _listing(kind, names) if kind == "modules" else [f"{_INDENT}{kind}: {inline(names[0])}"]


def _amounts(key: str, amounts: dict[str, float], owner: str) -> Iterator[str]:
    if amounts:
        yield f"{_INDENT}{key}: {{{', '.join(hint_text(name, value, owner) for name, value in amounts.items())}}}"


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


# --- amounts, in the largest unit that is exact ---


def hint_text(name: str, value: float, owner: str) -> str:
    """The hint as `key: amount`; an InputError if a workflow file cannot express it.

    >>> hint_text("memory_bytes", 1_500_000_000, "task 'a'"), hint_text("walltime_s", 5400, "task 'a'")
    ('memory: 1500 MB', 'time: 90m')
    """
    key = _KEYS.get(name, name)
    text = number_text(value)
    if name.endswith("_bytes") and name in _KEYS:
        text = _in_units(value, _BYTES, " ")
    elif name == "walltime_s":
        text = duration_text(value)
    _check(key, text, name, value, owner)
    return f"{key}: {text}"


def duration_text(seconds: float) -> str:
    """A duration in its largest exact unit: 5400 is `90m`."""
    return _in_units(seconds, _SECONDS, "")


def number_text(value: float) -> str:
    """A number without an unnecessary decimal point."""
    text = str(int(value)) if value == int(value) and abs(value) < 10**15 else repr(float(value))
    return text if "e" not in text or "." in text else text.replace("e", ".0e")  # YAML requires the decimal point


def _in_units(value: float, units: tuple[tuple[str, int], ...], space: str) -> str:
    for unit, size in units:
        if value >= size and value % size == 0:
            return f"{int(value // size)}{space}{unit}"
    return f"{number_text(value)}{space}{units[-1][0]}"


def _check(key: str, text: str, name: str, value: float, owner: str) -> None:
    """Check that the reader gets the same value back."""
    entry = Entry(0, Mapping({key: Entry(0, Text(text, 0, False))}, 0))
    if read_hints(_READER, entry, owner) != {name: value}:
        what = f"hint {name!r} of {owner} is {value!r}, which a workflow file cannot express"
        raise InputError(what, todo="round it")


# --- text: plain if that is safe, otherwise quoted or as a block ---


def inline(text: str) -> str:
    """The text on one line, also usable inside a list.

    >>> inline("part_aa"), inline("count[aa]"), inline("it's"), inline("no")
    ('part_aa', "'count[aa]'", "'it''s'", "'no'")
    """
    if _PLAIN.fullmatch(text) and not _TAKEN_FOR_ELSE.fullmatch(text):
        return text
    if _PRINTABLE.fullmatch(text) and not set("\t\n") & set(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def key_text(name: str) -> Iterator[str]:
    """A task's name as a key on its own line."""
    text = name if _PLAIN.fullmatch(name.replace("[", "").replace("]", "")) and name[0] not in "[]" else inline(name)
    if _TAKEN_FOR_ELSE.fullmatch(name):
        text = inline(name)
    if len(text) <= _LONGEST_KEY:
        yield f"  {text}:"
    else:
        yield f"  ? {text}"
        yield "  :"


def block_text(key: str, text: str) -> Iterator[str]:
    """`key: text`, as a readable block if the text has several lines."""
    if _LINE.fullmatch(text) and not _TAKEN_FOR_ELSE.fullmatch(text):
        yield f"{_INDENT}{key}: {text}"
    elif text.strip() and _PRINTABLE.fullmatch(text) and not _TAKEN_FOR_ELSE.fullmatch(text):
        ending = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
        body = text.removesuffix("\n").split("\n")
        # If the first line begins with a space, the indentation must be given as a number.
        yield f"{_INDENT}{key}: |{'2' if body[0][:1] in ('', ' ', chr(9)) else ''}{ending}"
        yield from (f"{_INDENT}  {line}" if line else "" for line in body)
    else:
        yield f"{_INDENT}{key}: {inline(text)}"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if _PRINTABLE.fullmatch(character) and character not in "\t\n":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
