"""Reads WfFormat, the JSON format of WfCommons for workflows and their executions: versions 1.4, 1.5 and 1.6.

Version 1.4 has one entry per task; later versions separate its specification from its execution. Unknown fields are
ignored. In files written by Headway, names are unescaped (see `wfformat_out`), and the key `headway` of a task holds
what WfFormat cannot express.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import PurePath

from msgspec import structs

from headway.formats.fields import WORD, has_control_character, short
from headway.formats.file_ids import FileIds
from headway.formats.wfformat_document import (
    CpuEntry,
    Document,
    Extras,
    Figure,
    MachineEntry,
    Part,
    TaskEntry,
    decode_document,
)
from headway.model.errors import InputError, WorkflowError
from headway.model.instance import Instance, Machine, Recorded
from headway.model.limits import MOST_AT_S, MOST_BYTES, MOST_CORES, MOST_RETRIES, MOST_SECONDS
from headway.model.resources import check_amount
from headway.model.software import checked_software
from headway.model.task import Task
from headway.model.workflow import Workflow

WRITER = "Headway"  # the runtime system named in files that Headway wrote
MOST = MOST_BYTES
_MOST_RECORDED = {"run_s": MOST_SECONDS, "cores": MOST_CORES, "cores_used": MOST_CORES}

_NUMBERED = re.compile(r"(.+?)_(?:ID)?[0-9]+")  # WfCommons: mProject_ID0000131, blastall_00000003
_DOUBLED = re.compile(r"(.+?)_\1(?:_.*)?")  # Pegasus, where jobs have ids of their own: map_map_s_1_sequence_4
_LONGEST_NUMBERED = 200  # characters: longer names are not matched against these patterns
_ESCAPED = re.compile(r"(?:#[0-9A-F]{2})+")
_NO_EXTRAS = Extras()
SAME = (
    "environment",
    "setup",
    "container",
    "hints",
    "retries",
    "sandbox",
    "strict",
    "malleable",
    "notice_s",
    "software",
    "shell",
    "limits",
    "auto_inputs",
    "temp",
    "gpu_memory_errors",
)  # as in a `Task`
_NOTHING_MORE = {name: getattr(_NO_EXTRAS, name) for name in SAME}
_LOGGED_TIME = "%m-%d-%yT%H:%M:%S%z"  # the time format of some published instances


def parse_wfformat(data: bytes, file: str = "workflow.json") -> Instance:
    """Parse an instance; `file` is its name in errors.

    >>> task = b'{"name": "mAdd_ID07", "id": "mAdd_ID07", "outputFiles": ["sky.fits"]}'
    >>> instance = parse_wfformat(b'{"name": "w", "workflow": {"specification": {"tasks": [%s]}}}' % task)
    >>> instance.workflow.tasks["mAdd_ID07"].category
    'mAdd'
    """
    return _Assembly(decode_document(data, file), file).instance()


class _Assembly:
    """Builds the instance from a decoded document."""

    def __init__(self, document: Document, file: str) -> None:
        self.document = document
        self.file = file
        self.ours = document.runtime_system is not None and document.runtime_system.name == WRITER
        whole = document.workflow
        self.plan = whole.specification or whole
        self.execution = whole.execution or (whole if whole.specification is None else Part())
        self.tasks = self._by_id(self.plan.tasks or ())
        apart = self.execution is not self.plan
        self.executed = self._by_id(self.execution.tasks or ()) if apart else self.tasks
        outputs = (file_id for task in self.tasks.values() for file_id in _outputs(task))
        self.files = FileIds(outputs if not self.ours else ())

    def error(self, what: str, todo: str = "correct it, or create the file again") -> InputError:
        return InputError(what, where=self.file, todo=todo)

    def instance(self) -> Instance:
        if not self.tasks:
            version = f" (schema version {short(self.document.schema_version)})" if self.document.schema_version else ""
            raise self.error(f"this file has no tasks{version}", "check that it is WfFormat 1.4, 1.5 or 1.6")
        for task_id in self.executed:
            if task_id not in self.tasks:
                raise self.error(f"task {short(task_id)} was executed but is not specified")
        name = self.document.name or PurePath(self.file).name.partition(".")[0] or "workflow"
        try:
            workflow = Workflow(name, self._tasks())
        except WorkflowError as problem:
            problem.where = self.file
            raise
        nothing = Recorded()
        recorded = {task_id: self._recorded(task_id) for task_id in self.tasks}
        return Instance(
            workflow,
            {task_id: figures for task_id, figures in recorded.items() if figures != nothing},
            self._file_bytes(),
            tuple(self._machine(machine) for machine in self.execution.machines or () if machine.node_name),
            # Makespan and start time are required by the schema, so files without them contain 0.
            self._figure(self.execution.makespan_in_seconds, "the makespan", most=MOST_AT_S) or None,
            _moment(self.execution.executed_at) or None,
            self.document.description or "",
        )

    def _by_id(self, tasks: Iterable[TaskEntry]) -> dict[str, TaskEntry]:
        found: dict[str, TaskEntry] = {}
        for number, task in enumerate(tasks, start=1):
            task_id = self._name(task.id or task.name or "")
            if not task_id.strip() or not _is_shown(task_id) or not _is_shown(task.name or ""):
                raise self.error(f"task number {number} has no usable id: {short(task_id)}")
            if task_id in found:
                raise self.error(f"two tasks have the id {short(task_id)}", "rename one")
            found[task_id] = task
        return found

    def _name(self, text: str) -> str:
        """The name before it was escaped to satisfy the schema."""
        return _ESCAPED.sub(_unescaped, text) if self.ours and "#" in text else text

    # --- tasks ---

    def _tasks(self) -> Iterable[Task]:
        outputs = {task_id: self._paths(_outputs(task)) for task_id, task in self.tasks.items()}
        made = {path: task_id for task_id, paths in outputs.items() for path in paths}
        ids_by_name: dict[str, str] = {}
        for task_id, task in self.tasks.items():
            run = self.executed.get(task_id, task)
            extras = self._extras(task, task_id)
            inputs = extras.inputs or self._paths(_inputs(task))
            if not self.ours and not set(inputs).isdisjoint(outputs[task_id]):
                inputs = tuple(path for path in inputs if path not in outputs[task_id])  # changed in place: an output
            parents = list(map(self._name, task.parents or ())) if self.ours else task.parents or []
            if not self.tasks.keys() >= set(parents):
                ids_by_name = ids_by_name or {task.name: task_id for task_id, task in self.tasks.items() if task.name}
                parents = [parent if parent in self.tasks else ids_by_name.get(parent, parent) for parent in parents]
            if not self.ours:  # normalise: parents that files imply come last, in the order of the inputs
                implied = dict.fromkeys(made[path] for path in inputs if path in made)
                parents = [*(parent for parent in parents if parent not in implied), *implied]
            yield Task(
                task_id,
                self._category(task, run, task_id),
                self._command(run, extras, task_id),
                inputs=inputs,
                outputs=outputs[task_id],
                parents=tuple(parents),
                priority=self._priority(run, extras, task_id),
                **({name: getattr(extras, name) for name in SAME} if extras is not _NO_EXTRAS else _NOTHING_MORE),
            )

    def _paths(self, file_ids: list[str]) -> tuple[str, ...]:
        if "" in file_ids:
            raise self.error("a file has an empty id")
        return tuple(map(self._name, file_ids)) if self.ours else self.files.paths(file_ids)

    def _category(self, task: TaskEntry, run: TaskEntry, task_id: str) -> str:
        name = task.name or task_id
        category = run.category or task.category
        if not category and (self.ours or name != task_id):
            category = name
        if not category:
            looked_at = name if len(name) <= _LONGEST_NUMBERED else ""
            found = _DOUBLED.fullmatch(looked_at) or _NUMBERED.fullmatch(looked_at)
            category = found[1] if found else name
        if not category.strip() or not _is_shown(category):
            raise self.error(f"task {short(task_id)} has no usable category: {short(category)}")
        return category

    def _command(self, run: TaskEntry, extras: Extras, task_id: str) -> str:
        if run.command is None:
            command = extras.command
        else:  # arguments are pieces of the logged command line, such as "--out x" or "2>"
            command = " ".join([run.command.program or "", *(run.command.arguments or ())]).strip(" ")
        if self.ours and run.command is not None:
            command = run.command.program or ""  # exactly as written
        if "\0" in command:
            raise self.error(f"the command of task {short(task_id)} contains a NUL character")
        return command

    def _priority(self, run: TaskEntry, extras: Extras, task_id: str) -> float:
        priority = run.priority if run.priority is not None else extras.priority
        if not -MOST <= priority <= MOST:
            raise self.error(f"the priority of task {short(task_id)} is {str(priority)[:20]}, which is out of range")
        return priority

    def _extras(self, task: TaskEntry, task_id: str) -> Extras:
        extras = task.headway
        if extras is None or not self.ours:
            return _NO_EXTRAS
        owner = f"task {short(task_id)}"
        for kind, amounts in (("hint", extras.hints), ("limit", extras.limits)):
            for name, value in amounts.items():
                try:
                    check_amount(name, value)
                except InputError as problem:
                    raise self.error(f"{kind} {problem.what} in {owner}") from None
        if not 0 <= extras.retries <= MOST_RETRIES:
            raise self.error(f"{owner} has {extras.retries} retries")
        if wrong := next((name for name in extras.environment if not WORD.fullmatch(name)), None):
            raise self.error(f"{short(wrong)} in the environment of {owner} is not a valid variable name")
        texts = (*extras.environment.values(), *extras.setup, *extras.shell, extras.container or "")
        if any("\0" in text for text in texts):
            raise self.error(f"{owner} contains a NUL character")
        try:
            checked_software(extras.software, extras.container)
        except InputError as problem:
            raise self.error(f"{problem.what} in {owner}") from None
        return extras

    # --- figures ---

    def _recorded(self, task_id: str) -> Recorded:
        run = self.executed.get(task_id)
        owner = ("task", task_id)
        recorded = Recorded()
        if run is not None:
            cpu_percent = self._figure(run.cpu_percent, "avgCPU", owner)
            recorded = Recorded(
                run_s=self._figure(_first(run.runtime_in_seconds, run.runtime), "the run time", owner, MOST_SECONDS),
                cores=self._figure(_first(run.core_count, run.cores), "coreCount", owner, MOST_CORES) or None,
                cores_used=cpu_percent / 100 if cpu_percent is not None else None,
                memory_bytes=self._whole(run.memory_in_bytes, "memoryInBytes", owner) or None,  # 0: not measured
                read_bytes=self._whole(run.read_bytes, "readBytes", owner),
                written_bytes=self._whole(run.written_bytes, "writtenBytes", owner),
                started_at=_moment(run.executed_at),
                machine=next(iter(run.machines or ()), run.machine or ""),
            )
        extras = self.tasks[task_id].headway
        if self.ours and extras is not None and extras.recorded is not None:
            more = {name: value for name, value in structs.asdict(extras.recorded).items() if value not in (None, "")}
            for name, value in more.items():
                if not isinstance(value, str):
                    self._figure(value, name, owner, _MOST_RECORDED.get(name, MOST))
            recorded = structs.replace(recorded, **more)
        return recorded

    def _figure(
        self, value: Figure, what: str, owner: tuple[str, str] | None = None, most: float = MOST
    ) -> float | None:
        if value is not None and not 0 <= value <= most:
            of = f" of {owner[0]} {short(owner[1])}" if owner else ""
            raise self.error(f"{what}{of} is {str(value)[:20]}, which is out of range", "correct it or leave it out")
        return value

    def _whole(self, value: Figure, what: str, owner: tuple[str, str]) -> int | None:
        figure = self._figure(value, what, owner)
        return None if figure is None else int(figure)

    def _file_bytes(self) -> dict[str, int]:
        listed = [*(self.plan.files or ()), *(file for task in self.tasks.values() for file in task.files or ())]
        sizes: dict[str, int] = {}
        for file in listed:
            file_id = file.id or file.name
            if not file_id or file.size_in_bytes is None or (self.ours and file.headway):  # its size is not known
                continue
            size_bytes = self._whole(file.size_in_bytes, "the size", ("file", file_id))
            path = self._name(file_id) if self.ours else self.files.path(file_id)
            sizes.setdefault(path, size_bytes or 0)  # tasks may disagree about a file's size: the first one counts
        return sizes

    def _machine(self, machine: MachineEntry) -> Machine:
        owner = ("machine", machine.node_name or "")
        cpu = machine.cpu or CpuEntry()
        return Machine(
            machine.node_name or "",
            self._whole(_first(cpu.core_count, cpu.count), "coreCount", owner) or None,
            self._whole(machine.memory_in_bytes, "memoryInBytes", owner) or None,
            self._whole(_first(cpu.speed_mhz, cpu.speed), "speedInMHz", owner) or None,
        )


def _first(new: Figure, old: Figure) -> Figure:
    """The figure of later versions, or that of version 1.4."""
    return old if new is None else new


def _inputs(task: TaskEntry) -> list[str]:
    return (task.input_files or []) + [file.name or "" for file in task.files or () if file.link == "input"]


def _outputs(task: TaskEntry) -> list[str]:
    return (task.output_files or []) + [file.name or "" for file in task.files or () if file.link == "output"]


def _is_shown(text: str) -> bool:
    return text.isprintable() or not has_control_character(text)  # isprintable is faster, and stricter


def _unescaped(codes: re.Match[str]) -> str:
    return bytes.fromhex(codes[0].replace("#", "")).decode(errors="replace")


def _moment(text: str | None) -> float | None:
    """Seconds since the epoch; None if the text is not a known time format."""
    if not text:
        return None
    for read in (datetime.fromisoformat, lambda text: datetime.strptime(text, _LOGGED_TIME)):
        try:
            moment = read(text)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None
