"""The files of Snakemake's `benchmark:`, as a table or as JSON lines, short or extended; one row per run of a job.

Memory is in units of 2^20 bytes, although it is called MB. Only the extended form names the rule; otherwise the
category is the name of the directory, if that is not `benchmarks`, or else that of the file. There are no dates: tasks
are in the order of the rows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from headway.formats.log_amounts import bytes_of, seconds_of
from headway.formats.log_table import BadRows, LogTable, begun
from headway.formats.nextflow_trace import machine_of
from headway.formats.spooled import kept
from headway.model.errors import InputError
from headway.model.task_log import LoggedTask, TaskLog

SIGN = "its first line has the fields s, h:m:s and max_rss"

_NEEDED = {"s", "h:m:s", "max_rss"}
_MIB = 2.0**20
_MB = 1e6  # of `mem_mb`
_MISSING = ("", "-", "NA", "nan", "None")
_NO_RULES = ("", ".", "benchmark", "benchmarks", "bench", "logs")
_ENDINGS = (".gz", ".txt", ".tsv", ".jsonl", ".json", ".benchmark")


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    if line.startswith("{"):
        try:
            return msgspec.json.decode(line, type=dict[str, Any]).keys() >= _NEEDED
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return False
    return set(line.strip().split("\t")) >= _NEEDED


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The runs with a measured peak: jobs of less than a sampling interval have none."""
    first, lines = begun(lines)
    tasks: Collection[LoggedTask]
    if first.startswith("{"):
        tasks, rows, bad = _of_json(lines, where)
    else:
        table = LogTable(lines, where, "\t", quoted=False)

        def task_of(row: list[str]) -> LoggedTask | None:
            return _task(lambda column: table.cell(row, column), table.where, where)

        tasks = kept(task for task in table.parsed(task_of) if task)
        rows, bad = table.rows, table.bad
    memory = ("memory_bytes",)
    return TaskLog(name, tasks, memory, machine_of(tasks), memory, {}, rows - len(tasks), bad.count, bad.said())


def _of_json(lines: Iterable[str], where: str) -> tuple[list[LoggedTask], int, BadRows]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    tasks: list[LoggedTask] = []
    bad = BadRows()
    rows = 0
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        rows += 1
        place = f"{where}:{number}"
        try:
            entry = decoder.decode(line)
            if task := _task(entry.get, place, where):
                tasks.append(task)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
            bad.note(
                InputError(f"this line is no JSON ({problem})", where=place, todo="check that the file is complete")
            )
        except InputError as problem:
            bad.note(problem)
    bad.complain(rows)
    return tasks, rows, bad


def _task(get: Callable[[str], Any], place: str, file: str) -> LoggedTask | None:
    peak, run_s = str(get("max_rss")), str(get("s"))
    if peak in _MISSING or run_s in _MISSING:
        return None
    peak_bytes = bytes_of(peak, "max_rss", place, _MIB)
    if not peak_bytes:
        return None
    stated = _numbers(get("resources"))
    asked = {
        "memory_bytes": stated.get("mem_mb", 0.0) * _MB,
        "cores": _number(get("threads")),
        "walltime_s": stated.get("runtime", 0.0) * 60,
    }
    used = {"memory_bytes": peak_bytes, "cores": _number(get("mean_load")) / 100}
    inputs = _numbers(get("input_size_mb"))
    rule = get("rule_name")
    return LoggedTask(
        place,
        str(rule) if rule else _category(file),
        seconds_of(run_s, "s", place),
        {resource: amount for resource, amount in used.items() if amount > 0},
        {resource: amount for resource, amount in asked.items() if amount > 0},
        int(sum(inputs.values()) * _MIB) if inputs else None,
        name="" if rule else file,
    )


def _number(given: Any) -> float:
    """A number that is only of use if it is one."""
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if 0 <= number < 1e6 else 0.0


def _numbers(given: Any) -> dict[str, float]:
    """The numbers of an object, which in a table is written as a dict of Python."""
    if isinstance(given, str):
        try:
            given = ast.literal_eval(given) if len(given) < 100_000 else {}
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            given = {}
    if not isinstance(given, Mapping):
        return {}
    numbers = {str(name): value for name, value in given.items() if isinstance(value, int | float)}
    return {name: float(value) for name, value in numbers.items() if 0 <= value < 1e12}


def _category(file: str) -> str:
    path = PurePath(file)
    if path.parent.name.lower() not in _NO_RULES:
        return path.parent.name
    stem = path.name
    for ending in _ENDINGS:
        stem = stem.removesuffix(ending) or stem
    return stem
