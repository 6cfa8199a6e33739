"""Checks of values that programs pass for a task, before anything is written."""

from __future__ import annotations

import sys

from headway.model.errors import InputError
from headway.model.limits import MOST_RETRIES


def check_priority_and_retries(priority: object, retries: object, *, where: str = "") -> None:
    """Raise InputError unless the priority is a finite number and retries is a count."""
    if not _is_number(priority):
        raise InputError(f"priority is {priority!r}, not a finite number", where=where, todo="write for example 1.5")
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise InputError(f"retries is {retries!r}, not a whole number of at least 0", where=where, todo="write 0 or 3")
    if retries > MOST_RETRIES:
        raise InputError(f"retries is more than {MOST_RETRIES:,}", where=where, todo="write 0 or 3")


def check_list(name: str, value: object, *, where: str = "") -> None:
    """Raise InputError if the value is a string, which as a sequence would be its letters."""
    if isinstance(value, str):
        raise InputError(f"{name} is the text {value!r}", where=where, todo=f"write a list: {name}=[{value!r}]")


def _is_number(value: object) -> bool:
    """Whether the value is a finite int or float, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
