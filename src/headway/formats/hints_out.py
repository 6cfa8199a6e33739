"""Writes amounts of a workflow file: in the largest unit that is exact."""

from __future__ import annotations

from headway.formats.fields import Reader
from headway.formats.hints import read_hints
from headway.formats.safe_yaml import Entry, Mapping, Text
from headway.model.errors import InputError

_KEYS = {"memory_bytes": "memory", "disk_bytes": "disk", "walltime_s": "time"}
_BYTES = (("TB", 10**12), ("GiB", 1024**3), ("GB", 10**9), ("MiB", 1024**2), ("MB", 10**6), ("kB", 1000), ("B", 1))
_SECONDS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def hint_text(name: str, value: float, owner: str) -> str:
    """The hint as `key: amount`; an InputError if a workflow file cannot express it.

    >>> hint_text("memory_bytes", 1_500_000_000, "task 'a'"), hint_text("walltime_s", 5400, "task 'a'")
    ('memory: 1500 MB', 'time: 90m')
    """
    key = _KEYS.get(name, name)
    text = number_text(value)
    if name.endswith("_bytes") and name in _KEYS:
        text = _in_units(value, _BYTES, " ")
    elif name == "walltime_s":
        text = duration_text(value)
    _check(key, text, name, value, owner)
    return f"{key}: {text}"


def duration_text(seconds: float) -> str:
    """A duration in its largest exact unit: 5400 is `90m`."""
    return _in_units(seconds, _SECONDS, "")


def number_text(value: float) -> str:
    """A number without an unnecessary decimal point."""
    text = str(int(value)) if value == int(value) and abs(value) < 10**15 else repr(float(value))
    return text if "e" not in text or "." in text else text.replace("e", ".0e")  # YAML requires the decimal point


def _in_units(value: float, units: tuple[tuple[str, int], ...], space: str) -> str:
    for unit, size in units:
        if value >= size and value % size == 0:
            return f"{int(value // size)}{space}{unit}"
    return f"{number_text(value)}{space}{units[-1][0]}"


def _check(key: str, text: str, name: str, value: float, owner: str) -> None:
    """Check that the reader gets the same value back."""
    entry = Entry(0, Mapping({key: Entry(0, Text(text, 0, False))}, 0))
    try:
        read = read_hints(Reader(""), entry, owner)
    except InputError as problem:
        raise InputError(problem.what, todo=problem.todo) from None
    if read != {name: value}:
        what = f"hint {name!r} of {owner} is {value!r}, which a workflow file cannot express"
        raise InputError(what, todo="round it")
