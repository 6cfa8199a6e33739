"""Resource records of tasks as published by the Cooperative Computing Lab: CSV, or text separated by ` -- `.

They contain neither requests nor times: tasks are in the order of the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from headway.formats.log_table import LogTable
from headway.formats.spooled import kept
from headway.formats.work_queue_log import KILLS, MACHINE, MB, RESOURCES
from headway.model.task_log import LoggedTask, TaskLog

SIGN = "its first line names the columns category, cores, memory, disk and wall_time"

_CSV = {"category", "cores", "memory", "disk", "wall_time"}
_MARK = " -- "
_TEXT = ("task_id", "core", "memory", "virtual_memory", "disk", "time", "average_cores", "tag")


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    first, *others = (word.strip() for word in line.split(_MARK))
    is_text = first in ("taskid", "task_id") and others[:6] == list(_TEXT[1:7]) and len(others) == 7
    return is_text or set(line.strip().split(",")) >= _CSV


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """One task for every row with a memory peak and a run time."""
    ours = iter(lines)
    first = next(ours, "")
    if _MARK in first:
        # One published file has a number instead of the last column's name, so the names here are our own.
        table = LogTable(_with_tabs(ours), where, "\t")
        category, cores, run_s = "tag", "core", "time"
    else:
        table = LogTable(chain([first], ours), where)
        category, cores, run_s = "category", "cores", "wall_time"

    def task_of(row: list[str]) -> LoggedTask | None:
        used = {
            "cores": table.number(row, cores) or 0.0,
            "memory_bytes": (table.number(row, "memory") or 0.0) * MB,
            "disk_bytes": (table.number(row, "disk") or 0.0) * MB,
        }
        seconds = table.number(row, run_s)
        if used["memory_bytes"] <= 0 or seconds is None or seconds < 0:  # -1: not measured
            return None
        return LoggedTask(
            id=table.cell(row, "task_id") or str(table.rows),
            category=table.cell(row, category),
            run_s=seconds,
            used={resource: amount for resource, amount in used.items() if amount > 0},
        )

    tasks = kept(task for task in table.parsed(task_of) if task is not None)
    left_out, bad, first_bad = table.rows - len(tasks), table.bad.count, table.bad.said()
    return TaskLog(name, tasks, RESOURCES, MACHINE, KILLS, {}, left_out, bad, first_bad)


def _with_tabs(lines: Iterator[str]) -> Iterator[str]:
    """The lines with tabs as separators, below a complete header."""
    yield "\t".join(_TEXT)
    for line in lines:
        yield "\t".join(line.split(_MARK))
