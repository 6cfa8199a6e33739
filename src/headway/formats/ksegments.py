"""The k-Segments traces: resource use and input sizes of the tasks of two workflows, with memory over time."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from headway.formats.log_table import LogTable
from headway.formats.nextflow_trace import machine_of
from headway.model.errors import InputError
from headway.model.task_log import LoggedTask, TaskLog

SERIES = ("memory_series64.jsonl", "memory_series64.jsonl.gz")  # in the same directory as the table
SIGN = "its first line names the columns workflow, process, task_id, input_bytes and peak_mb"

_COLUMNS = {"workflow", "process", "task_id", "input_bytes", "max_mem_bytes", "duration_s", "peak_mb"}
_MB = 2.0**20

Key = tuple[str, str]


class _Series(Struct):
    workflow: str
    task_id: str
    mb: list[float]


_series = msgspec.json.Decoder(_Series)


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    return set(line.strip().split(",")) >= _COLUMNS


def read_series(lines: Iterable[str], where: str) -> dict[Key, list[float]]:
    """The memory use over time of each task, in MB."""
    found: dict[Key, list[float]] = {}
    for number, line in enumerate(lines, 1):
        try:
            series = _series.decode(line)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
            raise InputError(f"this line is not a memory series ({problem})", where=f"{where}:{number}") from None
        found[series.workflow, series.task_id] = series.mb
    return found


def read(lines: Iterable[str], where: str, series: dict[Key, list[float]] | None = None) -> TaskLog:
    """The tasks in the order of their first sample; a category is `workflow/process`.

    If a task has two rows, the first row counts.
    """
    table = LogTable(lines, where)
    tasks: dict[Key, LoggedTask] = {}

    def note(row: list[str]) -> None:
        key = table.cell(row, "workflow"), table.cell(row, "task_id")
        peak_mb, run_s = table.amount(row, "peak_mb"), table.amount(row, "duration_s")
        if key in tasks or not peak_mb or run_s is None:
            return
        asked, inputs = table.amount(row, "max_mem_bytes"), table.amount(row, "input_bytes")
        tasks[key] = LoggedTask(
            id="/".join(key),
            category=f"{key[0]}/{table.cell(row, 'process')}",
            run_s=run_s,
            used={"memory_bytes": peak_mb * _MB},
            asked={"memory_bytes": asked} if asked else {},
            input_bytes=None if inputs is None else int(inputs),
            started_at=table.number(row, "first_sample") or 0.0,
            profile=_profile(peak_mb, series.get(key, ()) if series else ()),
        )

    for _ in table.parsed(note):
        pass
    started = sorted(tasks.values(), key=lambda task: task.started_at)
    kills = ("memory_bytes",)
    left_out = table.rows - len(started)
    bad, first_bad = table.bad.count, table.bad.said()
    return TaskLog("k-segments", started, kills, machine_of(started), kills, {}, left_out, bad, first_bad)


def _profile(peak_mb: float, mb: Iterable[float]) -> tuple[float, ...]:
    """The series in bytes. It is rounded while the peak is not, so its maximum is replaced by the peak."""
    values = list(mb)
    most = max(values, default=0.0)
    return tuple((peak_mb if value >= min(most, peak_mb) else value) * _MB for value in values)
