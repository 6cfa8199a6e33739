"""The JSON structure of WfFormat: the fields that Headway uses, as types, and errors for malformed JSON.

Fields have the format's own names, in Python's spelling.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

import msgspec
from msgspec import Struct, field

from headway.formats.fields import short
from headway.formats.safe_yaml import decoded
from headway.model.errors import InputError
from headway.model.instance import Recorded

Figure = int | float | None

# Bytes: larger files, which programs write, are not checked for duplicate keys, since the check is slow.
_MOST_CHECKED = 20_000_000
_NO_NUMBER = re.compile(rb"-?(?:NaN|Infinity)")


class Extras(Struct, gc=False, omit_defaults=True):
    """The properties of a Headway task that WfFormat lacks, and figures that its schema would refuse."""

    command: str = ""
    environment: dict[str, str] = {}
    setup: tuple[str, ...] = ()
    container: str | None = None
    inputs: tuple[str, ...] = ()  # as written, where some are patterns
    hints: dict[str, int | float] = {}
    priority: int | float = 0
    retries: int = 0
    sandbox: bool = True
    strict: bool = False
    malleable: bool = False
    notice_s: int | float = 0
    software: dict[str, tuple[str, ...]] = {}
    shell: tuple[str, ...] = ()
    limits: dict[str, int | float] = {}
    auto_inputs: bool = False
    temp: tuple[str, ...] = ()
    gpu_memory_errors: tuple[str, ...] = ()
    recorded: Recorded | None = None


class CommandLine(Struct, gc=False):
    program: str | None = None
    arguments: list[str] | None = None


class FileEntry(Struct, gc=False, rename="camel"):
    id: str | None = None
    name: str | None = None  # 1.4
    link: str | None = None  # 1.4
    size_in_bytes: Figure = None
    headway: dict[str, bool] | None = None


class TaskEntry(Struct, gc=False, rename="camel"):
    """A task in the specification, in the execution, or in both as in version 1.4."""

    id: str | None = None
    name: str | None = None
    category: str | None = None
    parents: list[str] | None = None
    input_files: list[str] | None = None
    output_files: list[str] | None = None
    files: list[FileEntry] | None = None  # 1.4
    command: CommandLine | None = None
    runtime_in_seconds: Figure = None
    runtime: Figure = None  # 1.4
    core_count: Figure = None
    cores: Figure = None  # 1.4
    cpu_percent: Figure = field(default=None, name="avgCPU")
    memory_in_bytes: Figure = None
    read_bytes: Figure = None
    written_bytes: Figure = None
    priority: Figure = None
    machines: list[str] | None = None
    machine: str | None = None  # 1.4
    executed_at: str | None = None
    headway: Extras | None = None


class CpuEntry(Struct, gc=False, rename="camel"):
    core_count: Figure = None
    count: Figure = None  # 1.4
    speed_mhz: Figure = field(default=None, name="speedInMHz")
    speed: Figure = None  # 1.4


class MachineEntry(Struct, gc=False, rename="camel"):
    node_name: str | None = None
    memory_in_bytes: Figure = None
    cpu: CpuEntry | None = None


class Part(Struct, gc=False, rename="camel"):
    """The specification, the execution, or in version 1.4 the whole workflow."""

    tasks: list[TaskEntry] | None = None
    files: list[FileEntry] | None = None
    machines: list[MachineEntry] | None = None
    makespan_in_seconds: Figure = None
    executed_at: str | None = None


class WholeWorkflow(Part, gc=False, rename="camel"):
    specification: Part | None = None
    execution: Part | None = None


class SystemEntry(Struct, gc=False):
    name: str | None = None


class Document(Struct, gc=False, rename="camel"):
    workflow: WholeWorkflow
    name: str | None = None
    description: str | None = None
    schema_version: str | None = None
    runtime_system: SystemEntry | None = None


_DECODER = msgspec.json.Decoder(Document)


def decode_document(data: bytes, file: str) -> Document:
    """Decode the JSON; an InputError names the place of a mistake."""
    text = decoded(data, file)
    try:
        if len(text) <= _MOST_CHECKED:
            _check_keys(text, file)
        del text
        return _DECODER.decode(data.removeprefix(codecs.BOM_UTF8))
    except msgspec.ValidationError as problem:
        what, _, place = str(problem).partition(" - at ")
        place = place.strip("`").removeprefix("$.")
        what = f"this is not WfFormat ({_lower(what)}{' at ' if place else ''}{place})"
        raise InputError(what, where=file, todo="correct it, or create the file again") from None
    except msgspec.DecodeError as problem:
        raise _syntax_error(str(problem), data, file) from None
    except RecursionError:
        raise InputError("values are nested too deeply", where=file) from None


def _check_keys(text: str, file: str) -> None:
    """Raise an error for an object with a duplicate key."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"an object has the key {short(twice)} twice", where=file, todo="remove one of the two")

    try:
        json.loads(text, object_pairs_hook=check)  # the result is not used
    except ValueError:
        return  # the decoder reports syntax errors


def _syntax_error(problem: str, data: bytes, file: str) -> InputError:
    if not data.strip():
        return InputError("this file is empty", where=file, todo="create it again")
    found = re.search(r"\(byte (\d+)\)", problem)
    place = int(found[1]) if found else len(data)
    if number := _NO_NUMBER.match(data, place):
        what = f"{number[0].decode()} (at byte {place:,}) is not a number"
        return InputError(what, where=_line(file, data, place), todo="leave out values that were not measured")
    what = _lower(problem.partition(" (byte")[0].removeprefix("JSON is malformed: "))
    what = f"{what} at byte {place:,}" if found else "it ends too early"
    return InputError(f"this is not JSON: {what}", where=_line(file, data, place), todo="create the file again")


def _line(file: str, data: bytes, place: int) -> str:
    return f"{file}:{1 + data.count(10, 0, place)}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].replace("`", "")
