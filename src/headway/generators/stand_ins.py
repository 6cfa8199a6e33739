"""Stand-ins: a workflow whose tasks use the time, memory and bytes that were recorded of the real ones."""

from __future__ import annotations

import hashlib
import math
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field, structs

from headway.model.errors import InputError, SiteError
from headway.model.instance import Instance, Recorded
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow

_PROGRAM = Path(__file__).parents[1] / "workers" / "stand_in.py"
_MOST_IN_A_COMMAND = 50_000  # bytes; Linux allows 128 KiB in one argument, and a command is one argument of `sh -c`


class Scale(Struct, frozen=True):
    """The factors by which a stand-in scales recorded time, memory and bytes."""

    time: float = 1.0
    memory: float = 1.0
    size: float = 1.0


class StandIns(Struct):
    """A workflow of stand-ins, and the files that must be there before it runs."""

    workflow: Workflow
    inputs: dict[str, int] = field(default_factory=dict)  # files that no task makes, and their sizes
    lists: dict[str, str] = field(default_factory=dict)  # files with lists of outputs too long for a command line

    def without_missing_inputs(self, directory: Path) -> Workflow:
        """Return the workflow without inputs that do not exist, so that it can be checked before `make_files`."""
        missing = {path for path in self.inputs if not (directory / path).exists()}
        tasks = (
            structs.replace(task, inputs=tuple(path for path in task.inputs if path not in missing))
            for task in self.workflow
        )
        return Workflow(self.workflow.name, tasks)

    def make_files(self, directory: Path) -> None:
        """Write inputs (sparse, since only Headway reads them) and lists, unless they exist."""
        try:
            for path, size_bytes in self.inputs.items():
                place = directory / path
                if not place.exists() or place.stat().st_size != size_bytes:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    with place.open("wb") as file:
                        file.truncate(size_bytes)
            for path, text in self.lists.items():
                place = directory / path
                if not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    fresh = place.with_name(f"{place.name}.{os.getpid()}")
                    fresh.write_text(text, encoding="utf-8", errors="surrogateescape")
                    fresh.replace(place)
        except OSError as error:
            raise SiteError(
                f"cannot write the files of stand-ins: {error.strerror}", where=str(error.filename)
            ) from error


def stand_ins(instance: Instance, folder: str, scale: Scale, most_cores: float) -> StandIns:
    """Replace every task of `instance` by a stand-in. Ids, categories, parents and priorities stay.

    All files move below `folder`: those that tasks make into `out`, the others into `in`.
    """
    if not instance.recorded:
        raise InputError(
            "nothing is recorded of any task, so there is nothing to stand in for",
            todo="--synthetic runs instances, such as `headway generate` makes or `headway convert` writes",
        )
    made = StandIns(Workflow(instance.workflow.name))
    given = _given(instance.workflow, folder)
    for path, place in given.items():
        made.inputs[place] = _scaled(instance.file_bytes.get(path), scale.size)
    tasks = []
    for task in instance.workflow:
        recorded = instance.recorded.get(task.id, Recorded())
        outputs = dict(_outputs(instance, task, recorded, folder, scale.size))
        inputs = [
            _place(path, folder) if path in instance.workflow.producer else given.get(path) for path in task.inputs
        ]
        tasks.append(
            Task(
                id=task.id,
                category=task.category,
                command=_command(recorded, scale, outputs, folder, made.lists),
                inputs=tuple(path for path in inputs if path),
                outputs=tuple(outputs),
                parents=task.parents,
                priority=task.priority,
                hints=_hints(recorded, most_cores),
            )
        )
    made.workflow.add(tasks)
    return made


def folder_beside(instance_file: Path) -> str:
    """Return the folder for the files of stand-ins: `montage.files` for montage.json or montage.json.gz."""
    stem = instance_file.name.removesuffix(".gz")
    stem = stem.rpartition(".")[0] or stem
    return f"{_harmless(stem)}.files"


def _given(workflow: Workflow, folder: str) -> dict[str, str]:
    """Return the new paths of the files that no task makes.

    They are spread over many folders, because a task whose input is one file of a folder gets links to all of them.
    """
    inside = {above for path in workflow.producer for above in _directories_above(path)}
    paths = dict.fromkeys(path for task in workflow for path in task.inputs if path not in workflow.producer)
    wanted = [  # files that are inside, or above, what tasks make are left out: the parents are known
        path
        for path in paths
        if not is_pattern(path)
        and path not in inside
        and not any(above in workflow.producer for above in _directories_above(path))
    ]
    a_folder = max(16, math.isqrt(len(wanted)))
    return {
        path: f"{folder}/in/{number // a_folder}/{number % a_folder}-{_harmless(os.path.basename(path))}"
        for number, path in enumerate(wanted)
    }


def _directories_above(path: str) -> list[str]:
    return [str(above) for above in Path(path).parents]


def _place(path: str, folder: str) -> str:
    return f"{folder}/out/{path}"


def _harmless(name: str) -> str:
    return re.sub(r"[^\w.+=,@-]", "_", name)[-100:]


def _outputs(
    instance: Instance, task: Task, recorded: Recorded, folder: str, scale: float
) -> Iterator[tuple[str, int]]:
    """Yield each output and its size. Outputs of unknown size share what the task wrote besides the others."""
    known = {path: instance.file_bytes[path] for path in task.outputs if path in instance.file_bytes}
    unknown = len(task.outputs) - len(known)
    rest = None
    if unknown and recorded.written_bytes is not None:
        rest = max(0, recorded.written_bytes - sum(known.values())) // unknown
    for path in task.outputs:
        yield _place(path, folder), _scaled(known.get(path, rest), scale)


def _scaled(size_bytes: int | None, scale: float) -> int:
    """Scale a size: 0 stays 0, and any other, also an unknown one, is at least one byte."""
    return 0 if size_bytes == 0 else max(1, round((size_bytes or 0) * scale))


def _hints(recorded: Recorded, most_cores: float) -> dict[str, float]:
    if recorded.cores is None or recorded.cores <= 1:
        return {}
    return {"cores": max(1.0, min(math.ceil(recorded.cores), math.floor(most_cores)))}


def _command(recorded: Recorded, scale: Scale, outputs: dict[str, int], folder: str, lists: dict[str, str]) -> str:
    run_s = (recorded.run_s or 0.0) * scale.time
    busy = 1.0 if recorded.cores_used is None else recorded.cores_used
    memory_bytes = round((recorded.memory_bytes or 0) * scale.memory)
    program = [sys.executable, "-I", "-S", "-B", str(_PROGRAM)]
    amounts = ["--run", f"{run_s:.6g}", "--busy", f"{busy:.6g}", "--memory", str(memory_bytes)]
    entries = [f"{path}={size_bytes}" for path, size_bytes in outputs.items()]
    if sum(2 * len(os.fsencode(entry)) for entry in entries) > _MOST_IN_A_COMMAND:
        text = "".join(f"{entry}\0" for entry in entries)
        digest = hashlib.blake2b(os.fsencode(text), digest_size=16).hexdigest()
        lists[f"{folder}/lists/{digest}"] = text
        entries = ["--list", f"{folder}/lists/{digest}"]  # named by its content: another list is another command
    return f"exec {shlex.join([*program, *amounts, *entries])}"
