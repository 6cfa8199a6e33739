"""What programs state of a task, looked at before anything is written: Python itself takes whatever it is given."""

from __future__ import annotations

import sys

from headway.model.errors import InputError


def check_priority_and_retries(priority: object, retries: object, *, where: str = "") -> None:
    """An InputError unless the priority is a finite number and the retries are a count."""
    if not _is_number(priority):
        raise InputError(f"priority is {priority!r}, not a finite number", where=where, todo="write for example 1.5")
    if not isinstance(retries, int) or isinstance(retries, bool) or retries < 0:
        raise InputError(f"retries is {retries!r}, not a whole number of at least 0", where=where, todo="write 0 or 3")


def check_list(name: str, value: object, *, where: str = "") -> None:
    """An InputError if it is one text: as a sequence that would be its letters."""
    if isinstance(value, str):
        raise InputError(f"{name} is the text {value!r}", where=where, todo=f"write a list: {name}=[{value!r}]")


def _is_number(value: object) -> bool:
    """Whether it is a number, no flag, that is neither NaN nor beyond what a float holds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
