"""Reads a log of tasks' resource use of any format, which its first line determines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import median

from msgspec import structs

from headway.formats import (
    ccl_records,
    ksegments,
    nextflow_trace,
    sacct_json,
    sacct_tasks,
    seff,
    slurm_report,
    snakemake_benchmark,
    work_queue_csv,
    work_queue_log,
)
from headway.formats.base import TaskLogFormat
from headway.formats.fields import short
from headway.formats.log_table import begun
from headway.formats.safe_yaml import shown
from headway.formats.spooled import kept
from headway.formats.unpacked import is_directory, stem, unpacked_lines
from headway.model.errors import InputError
from headway.model.task_log import LoggedTask, TaskLog
from headway.registry import WithPlugins

STANDARD_INPUT = Path("-")
_BUILT_IN = {
    "nextflow": ("Nextflow's trace", nextflow_trace),
    "snakemake-benchmark": ("Snakemake's benchmark files", snakemake_benchmark),
    "snakemake-slurm": ("the efficiency report of its Slurm plugin", slurm_report),
    "sacct": ("what Slurm's sacct -P prints", sacct_tasks),
    "sacct-json": ("or sacct --json", sacct_json),
    "seff": ("or seff", seff),
    "work-queue-log": ("Work Queue's transaction log", work_queue_log),
    "work-queue-csv": ("or its attempts as CSV", work_queue_csv),
    "ccl": ("CCL's records", ccl_records),
}
FORMATS = {
    name: TaskLogFormat(words, reader.recognises, reader.read, reader.SIGN)
    for name, (words, reader) in _BUILT_IN.items()
}

_ENDINGS = (".gz", ".csv", ".tsv", ".txt", ".log", ".txn", ".json", ".jsonl")
_JSON_LINES = 100  # of a document of many lines, which are looked at as one


def read_task_log(path: Path) -> TaskLog:
    """The tasks of the log at `path` that succeeded and were measured, in the order of their start.

    `-` is standard input; a directory is one with benchmark files of Snakemake, which hold one task each.
    """
    if is_directory(path):
        return _read_benchmarks(path)
    where = "standard input" if path == STANDARD_INPUT else shown(path)
    first, lines = _begun(path, where)
    formats = WithPlugins("headway.task_logs", FORMATS)
    found = _ksegments(path) if ksegments.recognises(first) else None
    name = "k-segments" if found else next((name for name, each in formats.items() if each.recognises(first)), "")
    found = found or (formats[name] if name else None)
    if found is None:
        known = ", ".join([*(each.words for each in formats.values()), "k-Segments' tasks.csv"])
        what = f"this is not a task log in a known format: it begins with {short(first.strip())}"
        raise InputError(what, where=where, todo=f"known are {known}")
    try:
        log = found.read(lines, where, where if path == STANDARD_INPUT else stem(path, *_ENDINGS))
        _check_tasks(log, where)
    except InputError as problem:
        took = f"it was read as {found.words.removeprefix('or ')}, since {found.sign}"
        todo = f"{problem.todo}; {took}" if problem.todo else took
        raise InputError(problem.what, where=problem.where, todo=todo) from None
    log.format = name
    return log


def _check_tasks(log: TaskLog, where: str) -> None:
    """Raise an InputError if there is no task, about the first bad row if there is one."""
    if log.tasks:
        return
    if log.first_bad:
        raise InputError(log.first_bad)
    raise InputError("no task in this log succeeded and has a memory measurement", where=where)


def read_task_logs(paths: Sequence[Path]) -> TaskLog:
    """The tasks of several logs as one log: runs of one pipeline, in the order of `paths`."""
    return joined([read_task_log(path) for path in paths])


def _read_benchmarks(directory: Path) -> TaskLog:
    """The tasks of all benchmark files below a directory, in the order of their paths."""
    logs = [read_task_log(path) for path in sorted(directory.rglob("*")) if _is_benchmark(path)]
    if not logs:
        todo = "name a log, or a directory with runs of Headway or with benchmark files of Snakemake"
        raise InputError("there is no log in this directory", where=shown(directory), todo=todo)
    log = joined(logs)
    log.name = directory.resolve().name
    return log


def _is_benchmark(path: Path) -> bool:
    if any(part.startswith(".") for part in path.parts[-2:]):
        return False
    try:
        return path.is_file() and snakemake_benchmark.recognises(_begun(path, shown(path))[0])
    except (InputError, OSError):  # some other file
        return False


def joined(logs: Sequence[TaskLog]) -> TaskLog:
    """One log with the tasks of `logs`, log after log; the machine is the largest one."""
    first, *others = logs
    if not others:
        return first
    names = ("cores", "memory_bytes", "disk_bytes")
    bad = next((log.first_bad for log in logs if log.first_bad), "")
    return TaskLog(
        f"{first.name} and {len(others)} more",
        kept(task for log in logs for task in log.tasks),
        tuple(name for name in first.resources if all(name in log.resources for log in others)),
        first.machine.replace(**{name: max(log.machine[name] or 0 for log in logs) for name in names}),
        tuple(name for name in first.kills if all(name in log.kills for log in others)),
        {resource: after_s for log in reversed(logs) for resource, after_s in log.failed_after_s.items()},
        sum(log.left_out for log in logs),
        sum(log.bad_rows for log in logs),
        bad,
        first.format if all(log.format == first.format for log in others) else "",
    )


def categorise(log: TaskLog, pattern: re.Pattern[str] | None) -> None:
    """Give the tasks whose name matches the pattern the category that it finds: its groups, or the whole match."""
    if pattern:
        log.tasks = kept(structs.replace(task, category=_category(task, pattern)) for task in log.tasks)


def _category(task: LoggedTask, pattern: re.Pattern[str]) -> str:
    found = pattern.search(task.name or task.category)
    if not found:
        return task.category
    return " ".join(group for group in found.groups() if group) or found[0] or task.category


def failures_beside(path: Path) -> dict[str, float]:
    """By resource, the median time until attempts exceed it, from the logs of the same workflow in this directory.

    Logs of one workflow are named `workflow_algorithm.csv`. The log of an algorithm that gives every task a machine
    contains no failures, so those of the other algorithms are used.
    """
    workflow, mark, ending = path.name.rpartition("_")
    suffix = ending[ending.find(".") :]
    failed: dict[str, list[float]] = {}
    for other in sorted(path.parent.iterdir()) if mark and "." in ending else ():
        other_workflow, _, other_ending = other.name.rpartition("_")
        if other_workflow != workflow or other_ending[other_ending.find(".") :] != suffix or not other.is_file():
            continue
        first, lines = _begun(other, shown(other))
        if work_queue_csv.recognises(first):
            for resource, seconds in work_queue_csv.times_to_failure(lines, shown(other)).items():
                failed.setdefault(resource, []).extend(seconds)
    return {resource: median(seconds) for resource, seconds in failed.items()}


def _begun(path: Path, where: str) -> tuple[str, Iterator[str]]:
    """The first line that is not blank, and an iterator over all lines."""
    first, lines = begun(unpacked_lines(path, where))
    if not first.strip():
        raise InputError("this file is empty", where=where)
    if first.strip() in ("{", "["):
        head = list(islice(lines, _JSON_LINES))
        return " ".join(line.strip() for line in head), chain(head, lines)
    return first, lines


def _ksegments(path: Path) -> TaskLogFormat:
    def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
        return ksegments.read(lines, where, _series_beside(path))

    return TaskLogFormat("k-Segments' tasks.csv", ksegments.recognises, read, ksegments.SIGN)


def _series_beside(path: Path) -> dict[ksegments.Key, list[float]]:
    for name in ksegments.SERIES:
        series = path.with_name(name)
        if series.exists():
            return ksegments.read_series(unpacked_lines(series), shown(series))
    return {}
