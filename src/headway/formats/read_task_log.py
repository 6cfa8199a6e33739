"""Reads a log of tasks' resource use of any format, which its first line determines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median

from headway.formats import ccl_records, ksegments, nextflow_trace, work_queue_csv, work_queue_log
from headway.formats.base import TaskLogFormat
from headway.formats.safe_yaml import shown
from headway.formats.unpacked import stem, unpacked_lines
from headway.model.errors import InputError
from headway.model.task_log import TaskLog
from headway.registry import WithPlugins

FORMATS = {
    "work-queue-log": TaskLogFormat("Work Queue's transaction log", work_queue_log.recognises, work_queue_log.read),
    "work-queue-csv": TaskLogFormat("or its attempts as CSV", work_queue_csv.recognises, work_queue_csv.read),
    "nextflow": TaskLogFormat("Nextflow's trace", nextflow_trace.recognises, nextflow_trace.read),
    "ccl": TaskLogFormat("CCL's records", ccl_records.recognises, ccl_records.read),
}


def read_task_log(path: Path) -> TaskLog:
    """The tasks of the log at `path` that succeeded and were measured, in the order of their start."""
    where = shown(path)
    first, lines = _begun(path)
    if ksegments.recognises(first):
        log = ksegments.read(lines, where, _series_beside(path))
    else:
        formats = WithPlugins("headway.task_logs", FORMATS)
        found = next((each for each in formats.values() if each.recognises(first)), None)
        if found is None:
            known = ", ".join([*(each.words for each in formats.values()), "k-Segments' tasks.csv"])
            raise InputError("this is not a task log in a known format", where=where, todo=f"known are {known}")
        log = found.read(lines, where, stem(path, ".gz", ".csv", ".tsv", ".txt", ".log", ".txn"))
    if not log.tasks:
        raise InputError("no task in this log succeeded and has a memory measurement", where=where)
    return log


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
        first, lines = _begun(other)
        if work_queue_csv.recognises(first):
            for resource, seconds in work_queue_csv.times_to_failure(lines, shown(other)).items():
                failed.setdefault(resource, []).extend(seconds)
    return {resource: median(seconds) for resource, seconds in failed.items()}


def _begun(path: Path) -> tuple[str, Iterator[str]]:
    """The first line, and an iterator over all lines."""
    lines = unpacked_lines(path)
    first = next(lines, "")
    if not first:
        raise InputError("this file is empty", where=shown(path))
    return first, chain([first], lines)


def _series_beside(path: Path) -> dict[ksegments.Key, list[float]]:
    for name in ksegments.SERIES:
        series = path.with_name(name)
        if series.exists():
            return ksegments.read_series(unpacked_lines(series), shown(series))
    return {}
