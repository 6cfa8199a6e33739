"""Work Queue's transaction log: one line per event of a task or worker; its header lines describe the format.

Work Queue's MB are 2^20 bytes (only then are sizes such as 6.593551635742188 whole numbers of bytes), but count as 10^6
bytes here: papers and users call a worker with 64,000 MB one of 64 GB, and ratios do not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median

import msgspec
from msgspec import Struct

from headway.formats.log_amounts import number_of
from headway.model.errors import InputError
from headway.model.limits import MOST_BYTES
from headway.model.resources import Resources
from headway.model.task_log import LoggedTask, TaskLog

MB = 1e6
RESOURCES = ("cores", "memory_bytes", "disk_bytes")
# A worker in Phung and Thain 2024, section V-A.
MACHINE = Resources(cores=16, memory_bytes=64_000_000_000, disk_bytes=64_000_000_000)
# Work Queue's monitor kills attempts that exceed any of these.
KILLS = ("memory_bytes", "disk_bytes", "cores")

SIGN = "its first line is one of Work Queue's events"

_LINE = re.compile(r"\d+ +\S+ +(MANAGER|WORKER|CATEGORY|TASK|TRANSFER) ")
_OURS = {"cores": "cores", "memory": "memory_bytes", "disk": "disk_bytes"}
_UNITS = {"cores": 1.0, "MB": MB, "s": 1.0, "us": 1e-6}
_GB = 1_000_000_000

Amounts = dict[str, tuple[float, str]]
_amounts = msgspec.json.Decoder(Amounts)


class Record(Struct):
    """The values of one task in a log."""

    category: str = ""
    started_at: float = 0.0  # of its first attempt
    given: dict[str, float] | None = None  # to its first attempt
    used: dict[str, float] | None = None  # by the attempt that succeeded
    run_s: float = 0.0


def recognises(line: str) -> bool:
    """Whether `line` is the first line of such a file."""
    return line.startswith("# time manager_pid ") or bool(_LINE.match(line))


def read(lines: Iterable[str], where: str, name: str) -> TaskLog:
    """The tasks that succeeded."""
    records: dict[str, Record] = {}
    failed: dict[str, list[float]] = {}
    workers: list[dict[str, float]] = []
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            break  # the manager is still writing this line, or was killed while writing it
        if line.startswith("#") or line.isspace():
            continue
        place = f"{where}:{number}"
        parts = line.split(None, 5)
        match parts:
            case [_, _, "TASK", task, "WAITING", rest]:
                records.setdefault(task, Record()).category = rest.split(None, 1)[0]
            case [time, _, "TASK", task, "RUNNING", rest]:
                record = records.setdefault(task, Record())
                if record.given is None:
                    record.started_at = number_of(time, "the time", place) / 1e6
                    record.given = _of_ours(_read_amounts(rest, place)[-1], place)
            case [_, _, "TASK", task, "RETRIEVED", rest]:
                _retrieved(records.setdefault(task, Record()), rest, failed, place)
            case [_, _, "WORKER", _, "RESOURCES", rest]:
                workers.append(_of_ours(_read_amounts(rest, place)[-1], place))
            case [_, _, "MANAGER" | "WORKER" | "CATEGORY" | "TASK" | "TRANSFER", *_]:
                continue
            case _:
                what = "this line does not belong to a Work Queue log"
                raise InputError(what, where=place, todo="check that the file is complete")
    return task_log(name, records, _common(workers), failed)


def _common(workers: list[dict[str, float]]) -> Resources:
    """The most common worker. Free disk differs between workers: the least, in whole GB, is what all of them have."""
    kinds = Counter((worker.get("cores", 0.0), worker.get("memory_bytes", 0.0)) for worker in workers)
    if not kinds:
        return MACHINE
    cores, memory = kinds.most_common(1)[0][0]
    alike = [worker for worker in workers if (worker.get("cores"), worker.get("memory_bytes")) == (cores, memory)]
    disk = min((worker.get("disk_bytes", 0.0) for worker in alike), default=0.0) // _GB * _GB
    return Resources.of({"cores": cores, "memory_bytes": memory, "disk_bytes": disk})


def _retrieved(record: Record, rest: str, failed: dict[str, list[float]], place: str) -> None:
    """Process the end of an attempt: result, exit code, exceeded resources, used resources."""
    result = rest.split(None, 1)[0]
    if result not in ("SUCCESS", "RESOURCE_EXHAUSTION"):
        return
    exceeded, *measured = _read_amounts(rest, place)
    if not measured:  # the attempt was not measured
        return
    run_s = _amount(measured[0].get("wall_time"), place)
    if result == "SUCCESS":
        record.used, record.run_s = _of_ours(measured[0], place), run_s
    else:
        for name in _OURS.keys() & exceeded.keys():
            failed.setdefault(_OURS[name], []).append(run_s)


def _read_amounts(text: str, place: str) -> list[Amounts]:
    """The JSON objects at the end of a line."""
    start = text.find("{")
    texts = text[start:].strip().replace("} {", "}\n{").split("\n") if start >= 0 else ["{}"]
    try:
        return [_amounts.decode(amounts) for amounts in texts]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
        todo = "check that the file is complete"
        raise InputError(f"these are not amounts ({problem})", where=place, todo=todo) from None


def _of_ours(amounts: Amounts, place: str) -> dict[str, float]:
    """The amounts by our names and in our units, without those that were not measured."""
    found = {ours: _amount(amounts.get(theirs), place) for theirs, ours in _OURS.items()}
    return {name: amount for name, amount in found.items() if amount > 0}


def _amount(amount: tuple[float, str] | None, place: str) -> float:
    if amount is None:
        return 0.0
    value, unit = amount
    if unit not in _UNITS:
        raise InputError(f"{unit[:20]!r} is not a unit of Work Queue", where=place)
    if value * _UNITS[unit] > MOST_BYTES:
        raise InputError(f"{value:g} {unit} is more than there can be", where=place, todo="correct the file")
    return value * _UNITS[unit]


def task_log(
    name: str, records: Mapping[str, Record], machine: Resources, failed: Mapping[str, list[float]]
) -> TaskLog:
    """The tasks that succeeded and have a memory peak, in the order of their start; others are left out."""
    ended = {task: record for task, record in records.items() if record.used and record.used.get("memory_bytes")}
    wishes = _wishes(ended.values(), machine)
    tasks = [
        LoggedTask(
            id=task,
            category=record.category,
            run_s=record.run_s,
            used=record.used or {},
            asked=wishes[record.category],
            started_at=record.started_at,
        )
        for task, record in sorted(ended.items(), key=lambda item: item[1].started_at)
    ]
    when = {resource: median(seconds) for resource, seconds in failed.items()}
    return TaskLog(name, tasks, RESOURCES, machine, KILLS, when, len(records) - len(tasks))


def _wishes(records: Iterable[Record], machine: Resources) -> dict[str, dict[str, float]]:
    """The amounts that users requested, by category.

    A log contains the amounts given to attempts. These are the user's request if all attempts of a category were given
    the same amounts and not the whole worker; otherwise Work Queue chose them.
    """
    given: dict[str, list[dict[str, float]]] = {}
    for record in records:
        seen = given.setdefault(record.category, [])
        if len(seen) < 2 and record.given not in seen:
            seen.append(record.given or {})
    wishes: dict[str, dict[str, float]] = {}
    for category, (first, *others) in given.items():
        is_part = first.get("cores", 0.0) < machine.cores and first.get("memory_bytes", 0.0) < machine.memory_bytes
        wishes[category] = first if is_part and not others else {}
    return wishes
