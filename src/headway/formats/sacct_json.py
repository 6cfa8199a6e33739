"""Slurm's accounting as `sacct --json` prints it, read job by job.

Versions differ: requests are MB in `required.memory`, or in `memory_per_node` and `memory_per_cpu`, which are objects
with `set` and `number`; states are a text or a list. Memory of steps is in bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from headway.formats.log_table import BadRows
from headway.formats.slurm_jobs import MB, SlurmJob, SlurmJobs, log_of
from headway.model.errors import InputError
from headway.model.limits import MOST_SECONDS, MOST_USED_BYTES
from headway.model.task_log import TaskLog

SIGN = 'it begins as JSON of Slurm, with "jobs"'

_JOBS = re.compile(r'"jobs"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_BLOCK = 1 << 16
_MOST_DIGITS = 30
_LONGEST_BEGINNING = 1 << 20
_PER_CPU = 2**63  # this bit says in old versions that the memory is that of a core


def recognises(line: str) -> bool:
    """Whether `line` (of JSON over many lines, the first of them as one) is the beginning of such a file."""
    return line.lstrip().startswith("{") and bool(_JOBS.search(line) or "slurm" in line.partition('"meta"')[2].lower())


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The jobs that completed and have a peak of memory, in the order of their start."""
    bad = BadRows()
    jobs = SlurmJobs()
    entries = 0
    for line, entry in _entries(lines, where):
        entries += 1
        try:
            job = _job(entry, f"{where}:{line}")
        except InputError as problem:
            bad.note(problem)
        else:
            jobs.add(job)  # the last entry wins: in a later dump the job may have ended
    bad.complain(entries)
    return log_of(jobs, name, bad)


def _entries(lines: Iterable[str], where: str) -> Iterator[tuple[int, Any]]:
    """The entries of the list `jobs`, with the line on which each begins; held in memory is one at a time."""
    decoder = json.JSONDecoder(parse_int=_whole)
    text, at, line, counted = "", 0, 1, 0  # `line` is where `counted` is: all may stand on one long line
    source = iter(lines)
    begun = False
    while True:
        more = _block(source, max(_BLOCK, len(text) - at))
        line += text.count("\n", counted, at)
        text, at, counted = text[at:] + more, 0, 0
        while begun or (start := _JOBS.search(text)):
            at = _BETWEEN.match(text, at if begun else start.end()).end()  # type: ignore[union-attr]
            begun = True
            if text.startswith("]", at):
                return
            try:
                entry, end = decoder.raw_decode(text, at)
            except (json.JSONDecodeError, RecursionError) as problem:
                if more:
                    break  # perhaps only cut off: try again with more text
                place = f"{where}:{line + text.count(chr(10), counted, at)}"
                what = f'this entry of "jobs" is cut off or no JSON ({getattr(problem, "msg", "nested too deeply")})'
                raise InputError(what, where=place, todo="check that the file is complete") from None
            line += text.count("\n", counted, at)
            counted = at
            yield line, entry
            at = end
        if not begun and (not more or len(text) > _LONGEST_BEGINNING):
            raise InputError('there is no list "jobs"', where=where, todo="make it with: sacct --json")


def _whole(text: str) -> float:
    """A whole number; infinite if it has more digits than any figure of Slurm."""
    return int(text) if len(text) <= _MOST_DIGITS else math.inf


def _block(source: Iterator[str], least: int) -> str:
    """The next lines, together at least so many characters; empty at the end."""
    block: list[str] = []
    size = 0
    for line in source:
        block.append(line)
        size += len(line)
        if size >= least:
            break
    return "".join(block)


def _job(entry: Any, where: str) -> SlurmJob:
    state = _at(entry, "state", "current")
    nodes = int(_number(entry, "allocation_nodes") or 1)
    job = SlurmJob(
        str(_at(entry, "job_id") or where),
        str(_at(entry, "name") or ""),
        str(_at(entry, "comment", "job") or ""),
        str(state[0] if isinstance(state, list) and state else state or ""),
        _within(_number(entry, "time", "elapsed"), MOST_SECONDS, "time.elapsed", where),
        asked=_asked(entry, nodes, where),
        started_at=_number(entry, "time", "start") or _number(entry, "time", "submission") or 0.0,
        nodes=max(1, nodes),
        cpus=_number(entry, "required", "CPUs") or 0.0,
        limit_s=max(0.0, _number(entry, "time", "limit") or 0.0) * 60,
    )
    steps = _at(entry, "steps")
    for step in steps if isinstance(steps, list) else ():
        job.cpu_s += _number(step, "time", "total", "seconds") or 0.0
        job.cpu_s += (_number(step, "time", "total", "microseconds") or 0.0) / 1e6
        most = _at(step, "tres", "requested", "max")
        for amount in most if isinstance(most, list) else ():
            if _at(amount, "type") == "mem":
                peak = _within(_number(amount, "count"), MOST_USED_BYTES, "a step's memory", where)
                job.measured(peak or 0.0, int(_number(step, "tasks", "count") or 1))
    return job


def _asked(entry: Any, nodes: int, where: str) -> float:
    """The memory that a job asked for on a node, in bytes."""
    per_node, per_cpu = _number(entry, "required", "memory_per_node"), _number(entry, "required", "memory_per_cpu")
    memory = _at(entry, "required", "memory")
    if isinstance(memory, int) and memory >= _PER_CPU:
        per_cpu = float(memory - _PER_CPU)
    elif per_node is None:
        per_node = _number(entry, "required", "memory")
    cpus = _number(entry, "required", "CPUs") or 1
    asked = per_cpu * math.ceil(cpus / max(1, nodes)) if per_cpu else per_node or 0.0
    return _within(asked * MB, MOST_USED_BYTES, "the requested memory", where) or 0.0


def _at(entry: Any, *keys: str) -> Any:
    """What is at this place of an entry; None if it is not there."""
    for key in keys:
        entry = entry.get(key) if isinstance(entry, dict) else None
    return entry


def _number(entry: Any, *keys: str) -> float | None:
    """The number at this place, plain or as an object with `set` and `number`; None if there is none."""
    value = _at(entry, *keys)
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return float(value) if isinstance(value, int | float) and abs(value) < 2**70 else None


def _within(value: float | None, most: float, name: str, where: str) -> float | None:
    if value is not None and not 0 <= value <= most:
        raise InputError(f"{name} is {value:g}, which cannot be", where=where)
    return value
