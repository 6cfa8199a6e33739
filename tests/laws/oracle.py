"""The outputs that a workflow gives in an empty directory: its commands, one after the other, without Headway."""

from __future__ import annotations

import csv
import fnmatch
import glob
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from tests.laws import shell
from tests.laws.flows import REGIONS, SHEET, Flow, Step, sheet_text, steps, workflow_text

MARKER = "fail."  # how files begin because of which commands fail; they are not inputs


class MadeTask(Struct):
    """A task that was run in the empty directory."""

    id: str
    category: str
    command: str
    inputs: list[str]
    outputs: list[str]
    temp: list[str]
    needs: set[str]  # the tasks whose outputs it reads
    source: str = ""  # the entry whose outputs it takes by `{from: …}`


class Clean(Struct):
    """What an empty directory gets: the tasks in their order, and each output's content."""

    tasks: dict[str, MadeTask] = field(default_factory=dict)
    sources: dict[str, set[str]] = field(default_factory=dict)  # of which tasks an entry's tasks are made, if of any
    failed: str = ""  # the first task whose command fails there
    made: dict[str, bytes] = field(default_factory=dict)  # by path; of a directory, each file, and the directory itself

    def reach(self, ids: Iterable[str]) -> set[str]:
        """Return these tasks and all that they need."""
        found: set[str] = set()
        ahead = list(ids)
        while ahead:
            if (task := ahead.pop()) not in found:
                found.add(task)
                ahead += self.tasks[task].needs
        return found


def lay_out(flow: Flow, files: Mapping[str, str], directory: Path) -> None:
    """Write all that is the user's own."""
    texts = {**files, SHEET: sheet_text(flow.rows), flow.file: workflow_text(flow)}
    for path, text in texts.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)


def clean_run(flow: Flow, directory: Path, config: Mapping[str, str]) -> Clean:
    """Run a workflow in a directory that has nothing but the user's own files."""
    clean = Clean()
    values = flow.config | dict(config)
    for step in steps(flow):
        if step.rows in ("parts", "regions"):
            clean.sources[step.name] = {task.id for task in clean.tasks.values() if task.category in step.each}
        for task in list(_tasks(step, flow, directory, values, clean)):
            clean.tasks[task.id] = task
            for path in (*task.outputs, *task.temp) if step.sandbox else ():
                (directory / path).parent.mkdir(parents=True, exist_ok=True)
            missing = [path for path in task.inputs if not glob.glob(path, root_dir=directory)]
            made = not missing and shell.run(task.command, directory) == 0
            for path in (*task.outputs, *task.temp):
                clean.made |= contents(directory, path)
            if not made or not all((directory / path).exists() for path in (*task.outputs, *task.temp)):
                clean.failed = task.id
                return clean
    return clean


def contents(directory: Path, path: str) -> dict[str, bytes]:
    """Return what lies at a path: the content of a file, or of all files in a directory."""
    whole = directory / path
    if whole.is_file():
        return {path: whole.read_bytes()}
    found = {path: b"a directory"} if whole.is_dir() else {}
    for folder, _, names in os.walk(whole):
        for name in names:
            inside = Path(folder, name)
            found[str(inside.relative_to(directory))] = inside.read_bytes() if inside.exists() else b"a link to nothing"
    return found


def _tasks(step: Step, flow: Flow, directory: Path, values: Mapping[str, str], clean: Clean) -> Iterable[MadeTask]:
    for row in _rows(step, flow, directory):
        known = {**values, **row}

        def filled(text: str, known: Mapping[str, str] = known) -> str:
            return re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], match[0]), text)

        name = row.get("sample") or row.get("part")
        inputs, outputs, temp = (list(map(filled, paths)) for paths in (step.inputs, step.outputs, step.temp))
        if step.source:
            makers = [task for task in clean.tasks.values() if task.category == step.source]
            inputs += [path for task in makers for path in (*task.outputs, *task.temp)]
        command = "\n".join(map(filled, step.lines)).replace("{inputs}", " ".join(inputs))
        command = command.replace("xargs cat < {inputs.list}", f"cat {' '.join(inputs)}")
        named = [word for word in command.split() if "/" in word or "." in word] if step.auto else []
        needs = {
            task.id
            for task in clean.tasks.values()
            if any(_touches(read, made) for read in (*inputs, *named) for made in (*task.outputs, *task.temp))
        }
        needs |= clean.sources.get(step.name, set()) | clean.sources.get(step.source, set())
        task_id = f"{step.name}[{name}]" if name else step.name
        yield MadeTask(task_id, step.name, command, inputs, outputs, temp, needs - {task_id}, step.source)


def _touches(read: str, made: str) -> bool:
    """Whether an input is an output, matches it, lies in it, or is a directory in which it lies."""
    folders = ["/".join(read.split("/")[:depth]) for depth in range(1, 1 + read.count("/"))]
    above = any(fnmatch.fnmatchcase(made, each) and made.count("/") == each.count("/") for each in (read, *folders))
    return above or made.startswith(f"{read}/")


def _rows(step: Step, flow: Flow, directory: Path) -> list[dict[str, str]]:
    match step.rows:
        case "":
            return [{}]
        case "all":
            return flow.rows
        case "used":
            return [row for row in flow.rows if row["use"] == "yes"]
        case "files":
            return [{"sample": Path(path).stem} for path in sorted(glob.glob("reads/*.txt", root_dir=directory))]
        case "parts":
            start, _, end = step.each.split('"')[1].partition("{part}")
            found = glob.glob(f"{start}*{end}", root_dir=directory)
            return [{"part": path.removeprefix(start).removesuffix(end)} for path in sorted(found)]
    with (directory / REGIONS).open() as file:
        return list(csv.DictReader(file, delimiter="\t"))
