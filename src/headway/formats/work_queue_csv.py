"""Work Queue's log as CSV with one row per attempt, as published with Phung and Thain 2024."""

from __future__ import annotations

from collections.abc import Iterable

from headway.formats.log_table import LogTable
from headway.formats.work_queue_log import MACHINE, MB, Record, task_log
from headway.model.task_log import TaskLog

SIGN = "its first line names the columns task_id, category, result, used_memory_mb and wall_time_s"

_COLUMNS = ("task_id", "category", "result", "used_memory_mb", "wall_time_s")
_USED = {"cores": ("used_cores", 1.0), "memory_bytes": ("used_memory_mb", MB), "disk_bytes": ("used_disk_mb", MB)}
_GIVEN = {"cores": ("alloc_cores", 1.0), "memory_bytes": ("alloc_memory_mb", MB), "disk_bytes": ("alloc_disk_mb", MB)}
_EXCEEDED = {"cores": "cores", "memory": "memory_bytes", "disk": "disk_bytes"}


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    return set(_COLUMNS) <= set(line.strip().split(","))


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The tasks that succeeded, with the resource use of the successful attempt."""
    table = LogTable(lines, where)
    records, failed = _gather(table)
    log = task_log(name, records, MACHINE, failed)
    log.bad_rows, log.first_bad = table.bad.count, table.bad.said()
    return log


def times_to_failure(lines: Iterable[str], where: str) -> dict[str, list[float]]:
    """By resource, the run times of the attempts that exceeded it."""
    return _gather(LogTable(lines, where))[1]


def _gather(table: LogTable) -> tuple[dict[str, Record], dict[str, list[float]]]:
    records: dict[str, Record] = {}
    failed: dict[str, list[float]] = {}

    def note(row: list[str]) -> None:
        record = records.setdefault(table.cell(row, "task_id"), Record(table.cell(row, "category")))
        if record.given is None:  # the first attempt: attempts of a task are in order
            record.started_at = (table.number(row, "t_run_us") or 0.0) / 1e6
            record.given = _amounts(table, row, _GIVEN)
        result, run_s = table.cell(row, "result"), table.number(row, "wall_time_s")
        if run_s is None or run_s < 0:  # -1: not measured
            return
        if result == "SUCCESS":
            record.used, record.run_s = _amounts(table, row, _USED), run_s
        elif result == "RESOURCE_EXHAUSTION":
            for limit in table.cell(row, "limits_exceeded").split(";"):
                resource = _EXCEEDED.get(limit.partition("=")[0])
                if resource:
                    failed.setdefault(resource, []).append(run_s)

    for _ in table.parsed(note):
        pass
    return records, failed


def _amounts(table: LogTable, row: list[str], columns: dict[str, tuple[str, float]]) -> dict[str, float]:
    found = {name: (table.number(row, column) or 0.0) * unit for name, (column, unit) in columns.items()}
    return {name: amount for name, amount in found.items() if amount > 0}
