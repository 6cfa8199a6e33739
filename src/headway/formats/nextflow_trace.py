"""Nextflow's trace file with any separator, with raw numbers (`trace.raw = true`) or with units: `1.2 GB`, `3m 2s`.

The bytes that a task read (`rchar`) are known only after it ran, so they are not used. Known at its start are the bytes
that earlier tasks wrote for the same sample (Nextflow's tag): these stand for the size of its input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import NamedTuple

from msgspec import structs

from headway.formats.log_amounts import number_of
from headway.formats.log_table import LogTable, begun
from headway.formats.spooled import Sorting, kept
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
MS = 0.001
_MOST_WRITTEN = 2**63 - 1


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


class _Event(NamedTuple):
    """A start or an end of a task with a tag; in the order in which they matter for that tag."""

    tag: str
    at: float
    ended: bool  # at equal times starts come first: a task never reads its own output
    row: int
    task: LoggedTask | None  # that starts
    written: int = 0  # bytes, by the task that ended


class _Started(NamedTuple):
    at: float
    row: int  # tasks that start at the same time stay in the order of the log
    task: LoggedTask


class _StartOrder:
    """Sorts tasks by their start, and finds the sizes of their inputs: what had been written for their tag before."""

    def __init__(self) -> None:
        self._by_tag: Sorting[_Event] = Sorting(_Event)
        self._by_start: Sorting[_Started] = Sorting(_Started)

    def add(self, row: int, task: LoggedTask, tag: str, ended_at: float | None, written: float | None) -> None:
        if not tag:
            self._by_start.add(_Started(task.started_at, row, task))
            return
        self._by_tag.add(_Event(tag, task.started_at, False, row, task))
        if ended_at and written:
            self._by_tag.add(_Event(tag, ended_at, True, row, None, int(written)))

    def tasks(self) -> Iterator[LoggedTask]:
        for _, events in groupby(self._by_tag, key=lambda event: event.tag):
            so_far: int | None = None
            for _, at, _, row, task, written in events:
                if task is None:
                    so_far = min(_MOST_WRITTEN, (so_far or 0) + written)
                    continue
                if so_far is not None:
                    structs.force_setattr(task, "input_bytes", so_far)
                self._by_start.add(_Started(at, row, task))
        return (task for _, _, task in self._by_start)


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The tasks that completed and have measurements, in the order of their start."""
    first, lines = begun(lines)
    separator = _separator(first)
    table = LogTable(lines, where, separator)
    table.mend = lambda row: _mended(row, table.columns, separator)
    _check_columns(table)
    order = _StartOrder()
    categories: dict[str, str] = {}  # one text for all tasks of a category
    wishes: dict[tuple[float | None, ...], dict[str, float]] = {}  # shared by all tasks with the same request

    def note(row: list[str]) -> None:
        peak, run_s = table.bytes(row, "peak_rss"), run_s_of(table, row)
        if table.cell(row, "status") not in _SUCCEEDED or not peak or run_s is None:
            return
        wish, cores = wish_of(table, row), busy_cores(table, row)
        ended_at, bytes_written = table.moment(row, "complete", MS), table.bytes(row, "wchar")
        category = category_of(table, row)
        started_at = table.moment(row, "start", MS) or table.moment(row, "submit", MS) or 0.0
        tag = tag_of(table, row)
        task = LoggedTask(
            id=table.cell(row, "task_id") or str(table.rows),
            category=categories.setdefault(category, category),
            run_s=run_s,
            used={"memory_bytes": peak, "cores": cores} if cores > 0 else {"memory_bytes": peak},
            asked=wishes.get(wish) or wishes.setdefault(wish, amounts_of(wish)),
            started_at=started_at,
        )
        order.add(table.rows, task, tag, ended_at, bytes_written)

    for _ in table.parsed(note):
        pass
    tasks = kept(order.tasks())
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


def wish_of(table: LogTable, row: list[str]) -> tuple[float | None, ...]:
    """The requests for memory, cores and time; None where there is none."""
    return table.bytes(row, "memory"), table.amount(row, "cpus"), table.seconds(row, "time", MS)


def amounts_of(wish: Iterable[float | None]) -> dict[str, float]:
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


def _mended(row: list[str], columns: Mapping[str, int], separator: str) -> list[str]:
    """A row whose tag contains the separator, as it was meant: Nextflow quotes nothing.

    The tag stands in `tag` and at the end of `name`.
    """
    places = [columns[column] for column in ("tag", "name") if column in columns]
    more = len(row) - len(columns)
    repeated = max(columns.values()) >= len(columns)  # the header names a column twice
    if more <= 0 or not places or more % len(places) or repeated:
        return row
    cells = []
    rest = iter(row)
    for place in range(len(columns)):
        taken = islice(rest, 1 + (more // len(places) if place in places else 0))
        cells.append(separator.join(taken))
    tags = {cells[columns["tag"]], _tag_in(cells[columns["name"]])} if len(places) == 2 else {""}
    return cells if len(tags) == 1 else row


def category_of(table: LogTable, row: list[str]) -> str:
    """The name of the task's process."""
    return table.cell(row, "process") or _TAG.sub("", table.cell(row, "name"))


def tag_of(table: LogTable, row: list[str]) -> str:
    """What tells the task from others of its process; empty if nothing does."""
    return table.cell(row, "tag") or _tag_in(table.cell(row, "name"))


def _tag_in(name: str) -> str:
    """The tag in a task's name: `ALIGN (sample 3)` has the tag `sample 3`."""
    found = _TAG.search(name)
    return found[0][2:-1] if found else ""


def busy_cores(table: LogTable, row: list[str]) -> float:
    """The cores that were busy on average; 0 if that is not known."""
    busy = table.cell(row, "%cpu").removesuffix("%")
    return number_of(busy, "%cpu", table.where) / 100 if busy else 0.0


def machine_of(tasks: Iterable[LoggedTask]) -> Resources:
    """The typical node, enlarged to the largest memory that any task used or requested."""
    most = max((max(task.used["memory_bytes"], task.asked.get("memory_bytes", 0.0)) for task in tasks), default=0.0)
    return MACHINE.replace(memory_bytes=max(MACHINE.memory_bytes, most))


def run_s_of(table: LogTable, row: list[str]) -> float | None:
    """The run time: `realtime`, or complete - start, or `duration`, which includes the wait."""
    run_s = table.seconds(row, "realtime", MS)
    if run_s is not None:
        return run_s
    start, complete = table.moment(row, "start", MS), table.moment(row, "complete", MS)
    return max(0.0, complete - start) if start and complete else table.seconds(row, "duration", MS)
