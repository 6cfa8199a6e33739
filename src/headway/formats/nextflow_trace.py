"""Nextflow's trace file with any separator, with raw numbers (`trace.raw = true`) or with units: `1.2 GB`, `3m 2s`.

The bytes that a task read (`rchar`) are known only after it ran, so they are not used. Known at its start are the bytes
that earlier tasks wrote for the same sample (Nextflow's tag): these stand for the size of its input.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from itertools import islice

import numpy as np
from msgspec import structs

from headway.formats.log_amounts import number_of
from headway.formats.log_table import LogTable, begun
from headway.model.errors import InputError
from headway.model.resources import Resources
from headway.model.task_log import LoggedTask, TaskLog

# A typical node for such workflows; enlarged if a task in the log used or requested more.
MACHINE = Resources(cores=32, memory_bytes=128_000_000_000)
SIGN = "its first line names columns of Nextflow, such as peak_rss, realtime or native_id"

# Fields of a trace that hardly any other table has, and others.
_OWN = {"native_id", "realtime", "peak_rss", "peak_vmem", "rchar", "wchar", "vol_ctxt", "inv_ctxt", "error_action"}
_FIELDS = {
    *_OWN,
    "task_id",
    "hash",
    "tag",
    "status",
    "exit",
    "cpus",
    "memory",
    "submit",
    "start",
    "complete",
    "duration",
}
_SETTING = (
    "set in nextflow.config: trace.fields = 'task_id,process,tag,name,status,cpus,time,memory,submit,start,complete,"
    "realtime,%cpu,peak_rss,wchar'"
)
_BETWEEN = re.compile(r"""[a-z]["']?([^\w%"']{1,5}?)["']?%?[a-z]""")
_SUCCEEDED = ("COMPLETED", "CACHED", "")  # a cached task has the figures of the run that made its result
_TAG = re.compile(r" \([^()]*\)$")
_MS = 0.001


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    names = _names(line)
    return bool(names & {"process", "name"}) and bool(names & _OWN) and len(names & _FIELDS) >= 2


def _separator(line: str) -> str:
    """The text between the first two names of a header."""
    found = _BETWEEN.search(line)
    return found[1] if found else "\t"


def _names(line: str) -> set[str]:
    return {name.strip().strip("\"'") for name in line.strip().split(_separator(line))}


class _Written:
    """The bytes that tasks wrote, by the time of their end and their tag."""

    def __init__(self) -> None:
        self.ended_at, self.tag, self.bytes = array("d"), array("l"), array("d")

    def add(self, ended_at: float, tag: int, written: float) -> None:
        self.ended_at.append(ended_at)
        self.tag.append(tag)
        self.bytes.append(written)


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The tasks that completed and have measurements, in the order of their start."""
    first, lines = begun(lines)
    separator = _separator(first)
    table = LogTable(lines, where, separator)
    table.mend = lambda row: _mended(row, table.columns, separator)
    _check_columns(table)
    tags: dict[str, int] = {}
    tag_of = array("l")  # of each task
    written = _Written()
    categories: dict[str, str] = {}  # one text for all tasks of a category
    wishes: dict[tuple[float | None, ...], dict[str, float]] = {}  # shared by all tasks with the same request

    def task_of(row: list[str]) -> LoggedTask | None:
        peak, run_s = table.bytes(row, "peak_rss"), _run_s(table, row)
        if table.cell(row, "status") not in _SUCCEEDED or not peak or run_s is None:
            return None
        wish = table.bytes(row, "memory"), table.amount(row, "cpus"), table.seconds(row, "time", _MS)
        busy = table.cell(row, "%cpu").removesuffix("%")
        cores = number_of(busy, "%cpu", table.where) / 100 if busy else 0.0
        ended_at, bytes_written = table.moment(row, "complete", _MS), table.bytes(row, "wchar")
        category = table.cell(row, "process") or _TAG.sub("", table.cell(row, "name"))
        started_at = table.moment(row, "start", _MS) or table.moment(row, "submit", _MS) or 0.0
        tag_name = table.cell(row, "tag") or _tag_in(table.cell(row, "name"))
        tag = tags.setdefault(tag_name, len(tags)) if tag_name else -1
        if tag >= 0 and ended_at and bytes_written:
            written.add(ended_at, tag, bytes_written)
        tag_of.append(tag)
        return LoggedTask(
            id=table.cell(row, "task_id") or str(table.rows),
            category=categories.setdefault(category, category),
            run_s=run_s,
            used={"memory_bytes": peak, "cores": cores} if cores > 0 else {"memory_bytes": peak},
            asked=wishes.get(wish) or wishes.setdefault(wish, _amounts(wish)),
            started_at=started_at,
        )

    tasks = [task for task in table.parsed(task_of) if task is not None]
    tasks = _in_start_order(tasks, tag_of, written)
    return TaskLog(
        name,
        tasks,
        ("memory_bytes",),
        machine_of(tasks),
        ("memory_bytes",),
        left_out=table.rows - len(tasks),
        bad_rows=table.bad.count,
        first_bad=table.bad.said(),
    )


def _amounts(wish: Iterable[float | None]) -> dict[str, float]:
    """The requests by resource, without those that were not made."""
    found = zip(("memory_bytes", "cores", "walltime_s"), wish, strict=True)
    return {resource: amount for resource, amount in found if amount}


def _check_columns(table: LogTable) -> None:
    """Raise an InputError that names the missing columns, and how to get them."""
    there = table.columns.keys()
    missing = [] if "peak_rss" in there else ["peak_rss"]
    if not there & {"realtime", "duration"} and not there >= {"start", "complete"}:
        missing.append("realtime")
    if missing:
        raise InputError(f"this trace has no column {' and '.join(missing)}", where=table.where, todo=_SETTING)


def _in_start_order(tasks: list[LoggedTask], tag_of: array[int], written: _Written) -> list[LoggedTask]:
    """Sort the tasks. Their input size is what had been written for their tag before they started, if anything was."""
    order = np.argsort(np.array([task.started_at for task in tasks], float), kind="stable").tolist()
    by_end = np.argsort(np.array(written.ended_at, float), kind="stable").tolist()
    so_far: dict[int, int] = {}
    ended = 0
    for place in order:
        task = tasks[place]
        while ended < len(by_end) and written.ended_at[by_end[ended]] < task.started_at:  # "<": never its own output
            output = by_end[ended]
            so_far[written.tag[output]] = so_far.get(written.tag[output], 0) + int(written.bytes[output])
            ended += 1
        if tag_of[place] in so_far:
            structs.force_setattr(task, "input_bytes", so_far[tag_of[place]])
    return [tasks[place] for place in order]


def _mended(row: list[str], columns: Mapping[str, int], separator: str) -> list[str]:
    """A row whose tag contains the separator, as it was meant: Nextflow quotes nothing.

    The tag stands in `tag` and at the end of `name`.
    """
    places = [columns[column] for column in ("tag", "name") if column in columns]
    more = len(row) - len(columns)
    if more <= 0 or not places or more % len(places):
        return row
    cells = []
    rest = iter(row)
    for place in range(len(columns)):
        taken = islice(rest, 1 + (more // len(places) if place in places else 0))
        cells.append(separator.join(taken))
    tags = {cells[columns["tag"]], _tag_in(cells[columns["name"]])} if len(places) == 2 else {""}
    return cells if len(tags) == 1 else row


def _tag_in(name: str) -> str:
    """The tag in a task's name: `ALIGN (sample 3)` has the tag `sample 3`."""
    found = _TAG.search(name)
    return found[0][2:-1] if found else ""


def machine_of(tasks: Iterable[LoggedTask]) -> Resources:
    """The typical node, enlarged to the largest memory that any task used or requested."""
    most = max((max(task.used["memory_bytes"], task.asked.get("memory_bytes", 0.0)) for task in tasks), default=0.0)
    return MACHINE.replace(memory_bytes=max(MACHINE.memory_bytes, most))


def _run_s(table: LogTable, row: list[str]) -> float | None:
    """The run time: `realtime`, or complete - start, or `duration`, which includes the wait."""
    run_s = table.seconds(row, "realtime", _MS)
    if run_s is not None:
        return run_s
    start, complete = table.moment(row, "start", _MS), table.moment(row, "complete", _MS)
    return max(0.0, complete - start) if start and complete else table.seconds(row, "duration", _MS)
