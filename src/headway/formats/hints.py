"""The keys `resources` and `limit` of a task: the user's estimates and limits, with units."""

from __future__ import annotations

import re
from collections.abc import Callable

from headway.formats.fields import Reader, did_you_mean, is_number, short
from headway.formats.safe_yaml import Entry
from headway.model.devices import is_possible_share
from headway.model.errors import InputError
from headway.model.hints import LIMITED, WITH_UNITS
from headway.model.limits import MOST_CORES, MOST_COUNT

RESOURCE_KEYS = ("cores", "memory", "disk", "time", "gpus", "nodes")

# By key in the file: name in the model, parser of the amount, units to suggest.
_WITH_UNITS: dict[str, tuple[str, Callable[[str], float], str, str]] = {
    "memory": (*WITH_UNITS["memory"], " MB", " GB"),
    "disk": (*WITH_UNITS["disk"], " MB", " GB"),
    "time": (*WITH_UNITS["time"], "s", "m"),
}
# Other common names. Accepted as extra resources they would request something that no machine has.
_MEANT = {
    **dict.fromkeys(("core", "cpu", "cpus", "threads", "ncpus"), "cores"),
    **dict.fromkeys(("mem", "ram", "memory_bytes", "memory_mb", "mem_mb"), "memory"),
    **dict.fromkeys(("disk_bytes", "disk_mb", "storage"), "disk"),
    **dict.fromkeys(("walltime", "runtime", "walltime_s", "duration"), "time"),
    **dict.fromkeys(("gpu", "ngpus"), "gpus"),
    **dict.fromkeys(("node", "nnodes"), "nodes"),
}
_EXTRA = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")


def read_hints(reader: Reader, entry: Entry, owner: str) -> dict[str, float]:
    """The amounts by their names in the model: `memory: 2 GB` becomes `memory_bytes` 2e9."""
    amounts = reader.mapping(entry, f"'resources' of {owner}", "{cores: 1, memory: 200 MB}")
    return dict(_hint(reader, key, amount, owner) for key, amount in amounts.items())


def read_limits(reader: Reader, entry: Entry, owner: str) -> dict[str, float]:
    """The amounts that a task must not exceed, by their names in the model."""
    amounts = reader.mapping(entry, f"'limit' of {owner}", "{memory: 8 GB, time: 2h}")
    for key, amount in amounts.items():
        if key not in LIMITED and key not in _MEANT:
            what = f"{short(key)} under 'limit' of {owner} cannot be limited"
            raise reader.error(amount.line, what, did_you_mean(key, LIMITED, "write one of"))
    return dict(_hint(reader, key, amount, owner) for key, amount in amounts.items())


def _hint(reader: Reader, key: str, entry: Entry, owner: str) -> tuple[str, float]:
    field = f"resource {short(key)} of {owner}"
    if key in _WITH_UNITS:
        name, parse, small, large = _WITH_UNITS[key]
        return name, _amount(reader, entry, field, parse, (small, large))
    match key:
        case "cores":
            cores = reader.number(entry, field, least=0, most=MOST_CORES)
            if not cores:
                raise reader.error(entry.line, f"{field} is 0", "write more than 0, such as 0.5")
            return key, cores
        case "gpus":
            gpus = reader.number(entry, field, least=0, most=MOST_COUNT)
            if not is_possible_share(gpus):
                what = f"{field} is {gpus:g}, neither a whole number nor a part of one GPU"
                raise reader.error(entry.line, what, "write 1, 2, …, or a number below 1 such as 0.5")
            return key, int(gpus) if gpus == int(gpus) else gpus
        case "nodes":
            return key, int(reader.number(entry, field, least=1, most=MOST_COUNT, whole=True))
    if key in _MEANT:
        raise reader.error(entry.line, f"unknown {field}", f"did you mean {_MEANT[key]!r}?")
    if not _EXTRA.fullmatch(key):
        todo = "begin with a letter, continue with letters and digits"
        raise reader.error(entry.line, f"{field} has no usable name", todo)
    try:
        return key, reader.number(entry, field, least=0, most=MOST_COUNT)
    except InputError as problem:
        problem.todo = did_you_mean(key, RESOURCE_KEYS, "an extra is a number; built in are")
        raise


def read_duration(reader: Reader, entry: Entry, field: str) -> float:
    """A duration in seconds: `90m` is 5400."""
    _, parse, small, large = _WITH_UNITS["time"]
    return _amount(reader, entry, field, parse, (small, large))


def _amount(reader: Reader, entry: Entry, field: str, parse: Callable[[str], float], units: tuple[str, str]) -> float:
    text = reader.value(entry, field).text
    if is_number(text):
        example = text if not text.startswith(("-", "+")) else "90"
        raise reader.error(
            entry.line, f"{field} is {short(text)} without a unit", f"write {example}{units[0]} or {example}{units[1]}"
        )
    try:
        value = parse(text)
    except InputError as problem:
        raise reader.error(entry.line, f"{field} is {short(text)}", problem.todo) from None
    if not value:
        raise reader.error(entry.line, f"{field} is {short(text)}, which is nothing", "write more, or leave it out")
    return value
