"""Writes an `Instance` as WfFormat 1.5, the JSON format of WfCommons.

The schema allows few characters in ids; all others are written as the codes of their bytes: `count[aa]` becomes
`count#5Baa#5D`. Properties that WfFormat lacks are in the key `headway` of a task, so that reading the file again gives
an equal instance, with times to the microsecond. Machines and makespan belong to the execution, which is only written
if run times of tasks are recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import structs

from headway.formats.wfformat import SAME, WRITER
from headway.formats.wfformat_document import Extras
from headway.model.errors import InputError
from headway.model.instance import Instance, Machine, Recorded
from headway.model.task import Task, is_pattern
from headway.model.workflow import matching
from headway.version import __version__

_NOT_IN_TASK_IDS = re.compile(r"[^0-9A-Za-z_.-]")
_NOT_IN_FILE_IDS = re.compile(r"[^0-9A-Za-z_./:-]")


def wfformat(instance: Instance) -> bytes:
    """The instance as JSON that satisfies the schema of WfFormat 1.5.

    >>> from headway.model.workflow import Workflow
    >>> text = wfformat(Instance(Workflow("w", [Task("count[aa]", "count", "wc x")])))
    >>> msgspec.json.decode(text)["workflow"]["specification"]["tasks"][0]["id"]
    'count#5Baa#5D'
    """
    if not instance.workflow.tasks:
        raise InputError(f"workflow {instance.workflow.name!r} has no tasks", todo="WfFormat needs at least one")
    document: dict[str, Any] = {"name": instance.workflow.name or "workflow"}
    if instance.description:
        document["description"] = instance.description
    document["schemaVersion"] = "1.5"
    document["runtimeSystem"] = {"name": WRITER, "version": __version__}
    document["workflow"] = {"specification": _specification(instance)}
    tasks = [_executed(task, instance.recorded[task.id]) for task in instance.workflow if _is_executed(instance, task)]
    if tasks:
        document["workflow"]["execution"] = _execution(instance, tasks)
    return msgspec.json.encode(document) + b"\n"


def _lines(entries: Iterable[dict[str, Any]]) -> msgspec.Raw:
    """A JSON list with one entry per line: readable and compact."""
    return msgspec.Raw(b"[\n" + b",\n".join(map(msgspec.json.encode, entries)) + b"\n]")


# --- specification ---


def _specification(instance: Instance) -> dict[str, Any]:
    everything = sorted({*instance.workflow.producer, *instance.file_bytes})
    tasks = []
    used: dict[str, None] = {}
    for task in instance.workflow:
        inputs = _inputs(task, everything)
        used.update(dict.fromkeys((*inputs, *task.outputs)))
        entry: dict[str, Any] = {
            "name": task.category,
            "id": _task_id(task.id),
            "parents": list(map(_task_id, task.parents)),
            "children": list(map(_task_id, instance.workflow.children[task.id])),
            "inputFiles": list(map(_file_id, inputs)),
            "outputFiles": list(map(_file_id, task.outputs)),
        }
        extras = _extras(instance, task)
        if extras != Extras():
            entry["headway"] = extras
        tasks.append(entry)
    files = [_file(path, instance) for path in used | dict.fromkeys(instance.file_bytes)]
    return {"tasks": _lines(tasks), "files": _lines(files)}


def _inputs(task: Task, everything: list[str]) -> list[str]:
    """The task's input files, with patterns replaced by the files that they match: other tools have no patterns."""
    found: dict[str, None] = {}
    for path in task.inputs:
        if is_pattern(path):
            found |= dict.fromkeys(match for match in matching(path, everything) if match not in task.outputs)
        else:
            found[path] = None
    return list(found)


def _file(path: str, instance: Instance) -> dict[str, Any]:
    """A file's entry. The schema requires a size, so an unknown size is 0 and marked."""
    if path in instance.file_bytes:
        return {"id": _file_id(path), "sizeInBytes": instance.file_bytes[path]}
    return {"id": _file_id(path), "sizeInBytes": 0, "headway": {"sizeKnown": False}}


def _extras(instance: Instance, task: Task) -> Extras:
    extras = Extras(
        inputs=task.inputs if any(map(is_pattern, task.inputs)) else (), **{name: getattr(task, name) for name in SAME}
    )
    recorded = instance.recorded.get(task.id)
    if recorded is None or not _is_executed(instance, task):
        return structs.replace(extras, command=task.command, priority=task.priority, recorded=recorded)
    percent = _percent(recorded.cores_used)
    left = Recorded(
        cores=recorded.cores if recorded.cores is not None and recorded.cores < 1 else None,  # the schema's least is 1
        cores_used=recorded.cores_used if percent is not None and percent / 100 != recorded.cores_used else None,
        gpu_memory_bytes=recorded.gpu_memory_bytes,  # the schema knows no GPUs
        gpus_used=recorded.gpus_used,
    )
    return structs.replace(extras, recorded=left) if left != Recorded() else extras


def _task_id(text: str) -> str:
    return _NOT_IN_TASK_IDS.sub(_code, text)


def _file_id(text: str) -> str:
    return _NOT_IN_FILE_IDS.sub(_code, text)


def _code(character: re.Match[str]) -> str:
    return "".join(f"#{byte:02X}" for byte in character[0].encode())


# --- execution ---


def _is_executed(instance: Instance, task: Task) -> bool:
    """Whether the task's run time is recorded, which entries of the execution require."""
    return task.id in instance.recorded and instance.recorded[task.id].run_s is not None


def _execution(instance: Instance, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    execution = {
        "makespanInSeconds": instance.makespan_s or 0,  # required by the schema: 0 if unknown
        "executedAt": _moment(instance.started_at) or _moment(0),
        "tasks": _lines(tasks),
    }
    if instance.machines:
        execution["machines"] = _lines(map(_machine, instance.machines))
    return execution


def _executed(task: Task, recorded: Recorded) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": _task_id(task.id),
        "runtimeInSeconds": recorded.run_s,
        "executedAt": _moment(recorded.started_at),
        "command": {"program": task.command} if task.command else None,
        "coreCount": recorded.cores if recorded.cores is not None and recorded.cores >= 1 else None,
        "avgCPU": _percent(recorded.cores_used),
        "readBytes": recorded.read_bytes,
        "writtenBytes": recorded.written_bytes,
        "memoryInBytes": recorded.memory_bytes,
        "priority": task.priority or None,
        "machines": [recorded.machine] if recorded.machine else None,
    }
    return _known(entry)


def _machine(machine: Machine) -> dict[str, Any]:
    cpu = _known({"coreCount": machine.cores, "speedInMHz": machine.speed_mhz})
    return _known({"nodeName": machine.name, "memoryInBytes": machine.memory_bytes, "cpu": cpu or None})


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def _percent(cores_used: float | None) -> float | None:
    """The percentage that, divided by 100, gives exactly this figure, if there is one; otherwise the nearest."""
    if cores_used is None:
        return None
    about = cores_used * 100
    near = (round(about, 9), about, math.nextafter(about, math.inf), math.nextafter(about, 0))
    return next((percent for percent in near if percent / 100 == cores_used), about)


def _moment(seconds: float | None) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds is not None else None
    except (ValueError, OverflowError, OSError):  # the year does not have four digits
        return None
