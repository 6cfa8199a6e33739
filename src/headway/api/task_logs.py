"""Logs of tasks as users name them: files, standard input, directories of benchmark files, and Headway's own runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from headway.api.finding import reading
from headway.journal.folder import Project, RunFolder
from headway.model.errors import InputError
from headway.model.outcome import Ending, Outcome, Quality
from headway.model.records import InputsRead, LimitsRead, TaskEnded, TasksAdded
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog

if TYPE_CHECKING:
    from headway.journal.base import Journal

RESOURCES = ("cores", "memory_bytes", "disk_bytes")
KILLS = ("memory_bytes", "disk_bytes")
_KINDS = [str(kind.__struct_config__.tag) for kind in (TasksAdded, InputsRead, LimitsRead, TaskEnded)]
_PARTS = "snakemake-benchmark"  # a format whose files hold one task each


def read_logs(paths: Sequence[Path], category_from: str = "") -> list[tuple[Path, TaskLog]]:
    """Read the logs at `paths`; benchmark files that follow each other are one log.

    `category_from` is a regular expression that finds the category in the name of a task.
    """
    from headway.formats.read_task_log import categorise, joined, read_task_log

    pattern = _pattern(category_from)
    read = [(path, own_log(path) or read_task_log(path)) for path in paths]
    for _, log in read:
        categorise(log, pattern)
    answer = []
    for is_part, group in groupby(read, key=lambda each: each[1].format == _PARTS):
        found = list(group)
        answer += [(found[0][0], joined([log for _, log in found]))] if is_part else found
    return answer


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except (re.error, OverflowError, RecursionError) as problem:
        todo = "write for example '^nf-([^(]+)_'"
        raise InputError(f"{text!r} is no regular expression ({problem})", where="--category-from", todo=todo) from None


def own_log(path: Path) -> TaskLog | None:
    """Return the tasks of a run's folder, or of all runs of a project's directory; None if `path` is neither."""
    from headway.formats.read_task_log import joined
    from headway.formats.unpacked import is_directory

    if not is_directory(path):
        return None
    if (path / "journal.db").exists():
        folders, name = [RunFolder(path)], f"run {path.resolve().name}"
    elif (path / ".headway").is_dir():
        folders, name = Project(path).runs(), path.resolve().name
    else:
        return None
    logs = []
    for folder in folders:
        with reading(folder) as journal:
            logs.append(_log_of(journal))
    logs = [log for log in logs if log.tasks]
    if not logs:
        raise InputError("no task of a run here succeeded and has a memory measurement", where=str(path))
    log = joined(logs)
    log.name = name
    return log


def _log_of(journal: Journal) -> TaskLog:
    """The tasks of a run that succeeded and were measured, in the order of their start."""
    tasks: dict[str, Task] = {}
    input_bytes: dict[str, int] = {}
    machine = Resources()
    ended: dict[str, Outcome | None] = {}  # by task: its success
    failed: dict[str, list[float]] = {}
    for record in journal.replay(kinds=_KINDS):
        match record:
            case TasksAdded():
                tasks |= {task.id: task for task in record.tasks}
            case InputsRead():
                input_bytes[record.task] = record.input_bytes
            case LimitsRead(wish=None):
                machine = Resources.of({name: record.limits[name] for name in RESOURCES})
            case TaskEnded(outcome=outcome) if outcome.ending is Ending.SUCCESS:
                ended[outcome.task] = outcome
            case TaskEnded(outcome=outcome):
                ended.setdefault(outcome.task, None)
                if outcome.ending.exhausted in KILLS:
                    failed.setdefault(outcome.ending.exhausted or "", []).append(outcome.ended_at - outcome.started_at)
    logged = [
        _logged(tasks[name], outcome, input_bytes.get(name)) for name, outcome in ended.items() if outcome is not None
    ]
    found = sorted((task for task in logged if task is not None), key=lambda task: task.started_at)
    after_s = {resource: median(seconds) for resource, seconds in failed.items()}
    return TaskLog("", found, RESOURCES, machine, KILLS, after_s, len(ended) - len(found), format="headway")


def _logged(task: Task, outcome: Outcome, input_bytes: int | None) -> LoggedTask | None:
    """Return the task as a log has it; None if its memory was not measured."""
    peaks = {name: outcome.usage.peak(name) for name in RESOURCES}
    used = {
        name: peak.value
        for name, peak in peaks.items()
        if peak is not None and peak.quality is not Quality.LOWER_BOUND and peak.value > 0
    }
    if "memory_bytes" not in used:
        return None
    asked = {name: task.hints[name] for name in (*RESOURCES, "walltime_s") if task.hints.get(name, 0) > 0}
    run_s = max(0.0, outcome.ended_at - outcome.started_at)
    return LoggedTask(task.id, task.category, run_s, used, asked, input_bytes, outcome.started_at)
