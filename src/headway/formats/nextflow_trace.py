"""Nextflow's trace file, with raw numbers (`trace.raw = true`) or with units: `1.2 GB`, `3m 2s`.

The bytes that a task read (`rchar`) are known only after it ran, so they are not used. Known at its start are the bytes
that earlier tasks wrote for the same sample (Nextflow's tag): these stand for the size of its input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

from msgspec import structs

from headway.formats.log_table import LogTable, as_number
from headway.model.errors import InputError
from headway.model.resources import Resources
from headway.model.task_log import LoggedTask, TaskLog

# A typical node for such workflows; enlarged if a task in the log used or requested more.
MACHINE = Resources(cores=32, memory_bytes=128_000_000_000)

_TABLES = ("\t", ",")
_SUCCEEDED = ("COMPLETED", "CACHED", "")  # a cached task has the figures of the run that made its result
_TAG = re.compile(r" \([^()]*\)$")
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)i?B", re.IGNORECASE)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])\s*")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_PLAIN = re.compile(r"\d+(?:\.\d+)?")


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    return any(_is_header(line.strip().split(delimiter)) for delimiter in _TABLES)


def _is_header(columns: Iterable[str]) -> bool:
    names = {name.strip().strip('"') for name in columns}
    return "peak_rss" in names and bool(names & {"process", "name"}) and bool(names & {"realtime", "duration"})


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The tasks that completed and have measurements, in the order of their start."""
    ours = iter(lines)
    first = next(ours, "")
    table = LogTable(chain([first], ours), where, "\t" if "\t" in first else ",")
    tasks: list[LoggedTask] = []
    tags: dict[str, str] = {}  # by task
    written: list[tuple[float, str, float]] = []  # (end time, tag, bytes)
    wishes: dict[float | None, dict[str, float]] = {None: {}, 0.0: {}}  # shared by all tasks with the same request
    rows = 0
    for row in table:
        rows += 1
        peak = _bytes(table, row, "peak_rss")
        run_s = _run_s(table, row)
        if table.cell(row, "status") not in _SUCCEEDED or not peak or run_s is None:
            continue
        wish = _bytes(table, row, "memory")
        task_id = table.cell(row, "task_id") or str(rows)
        tags[task_id] = tag = table.cell(row, "tag") or _tag_in(table.cell(row, "name"))
        ended_at, bytes_written = _moment(table, row, "complete"), _bytes(table, row, "wchar")
        if tag and ended_at and bytes_written:
            written.append((ended_at, tag, bytes_written))
        tasks.append(
            LoggedTask(
                id=task_id,
                category=table.cell(row, "process") or _TAG.sub("", table.cell(row, "name")),
                run_s=run_s,
                used={"memory_bytes": peak},
                asked=wishes.setdefault(wish, {"memory_bytes": wish or 0.0}),
                started_at=_moment(table, row, "start") or _moment(table, row, "submit") or 0.0,
            )
        )
    tasks.sort(key=lambda task: task.started_at)
    tasks = list(_with_inputs(tasks, tags, sorted(written)))
    return TaskLog(name, tasks, ("memory_bytes",), machine_of(tasks), ("memory_bytes",), left_out=rows - len(tasks))


def _with_inputs(
    tasks: Iterable[LoggedTask], tags: Mapping[str, str], written: Sequence[tuple[float, str, float]]
) -> Iterator[LoggedTask]:
    """Set each task's input size to the bytes written for its tag before it started; None if there were none."""
    so_far: Counter[str] = Counter()
    ended = 0
    for task in tasks:
        while ended < len(written) and written[ended][0] < task.started_at:  # "<": never its own output
            _, tag, bytes_written = written[ended]
            so_far[tag] += int(bytes_written)
            ended += 1
        yield structs.replace(task, input_bytes=so_far.get(tags[task.id]))


def _tag_in(name: str) -> str:
    """The tag in a task's name: `ALIGN (sample 3)` has the tag `sample 3`."""
    found = _TAG.search(name)
    return found[0][2:-1] if found else ""


def machine_of(tasks: Iterable[LoggedTask]) -> Resources:
    """The typical node, enlarged to the largest memory that any task used or requested."""
    most = max((max(task.used["memory_bytes"], *task.asked.values(), 0.0) for task in tasks), default=0.0)
    return MACHINE.replace(memory_bytes=max(MACHINE.memory_bytes, most))


def _run_s(table: LogTable, row: list[str]) -> float | None:
    """The run time: `realtime`, or complete - start, or `duration`, which includes the wait."""
    run_s = _span(table, row, "realtime")
    if run_s is not None:
        return run_s
    start, complete = _moment(table, row, "start"), _moment(table, row, "complete")
    return max(0.0, complete - start) if start and complete else _span(table, row, "duration")


def _bytes(table: LogTable, row: list[str], column: str) -> float | None:
    """An amount in bytes; a number without a unit is in bytes. Nextflow's KB has 1024 bytes."""
    text = table.cell(row, column)
    if not text or _PLAIN.fullmatch(text):
        return as_number(text, column, table.where) if text else None
    match = _BYTES.fullmatch(text) if len(text) < 50 else None
    if not match:
        raise InputError(f"{column} is {text[:100]!r}, not an amount of memory", where=table.where)
    return float(match[1]) * 1024.0 ** " KMGTPE".index(match[2].upper() or " ")


def _span(table: LogTable, row: list[str], column: str) -> float | None:
    """A duration in seconds; a number without a unit is in milliseconds."""
    text = table.cell(row, column)
    if not text or _PLAIN.fullmatch(text):
        return as_number(text, column, table.where) / 1000 if text else None
    parts = _SPAN.findall(text) if len(text) < 50 else []
    if not parts or _SPAN.sub("", text):
        raise InputError(f"{column} is {text[:100]!r}, not a length of time", where=table.where)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _moment(table: LogTable, row: list[str], column: str) -> float | None:
    """Seconds since the epoch. Dates have no time zone and count as UTC; only their order matters."""
    text = table.cell(row, column)
    if not text or _PLAIN.fullmatch(text):
        return as_number(text, column, table.where) / 1000 if text else None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        raise InputError(f"{column} is {text[:100]!r}, not a date", where=table.where) from None
