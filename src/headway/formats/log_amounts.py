"""Amounts in logs of tasks: memory, durations, dates. What no task can have used is refused, with the place."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from headway.formats.fields import short
from headway.model.errors import InputError
from headway.model.limits import MOST_SECONDS, MOST_USED_BYTES

_MOST = 2.0**62
_BYTES = re.compile(r"(\d+(?:\.\d+)?(?:E[+-]?\d+)?)\s*([KMGTPE]?)(i?B)?", re.IGNORECASE)
_SPAN = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s*(ms|[smhd])\s*")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_CLOCK = re.compile(r"(?:(\d+)-|(\d+) days?, )?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_COMMA = re.compile(r"[\d.]+,\d+")


def number_of(text: str, name: str, where: str) -> float:
    """Parse a number."""
    try:
        number = float(text)
    except ValueError:
        number = _MOST
    if not -_MOST < number < _MOST:  # also true for NaN
        raise _wrong(text, name, where, "not a number")
    return number


def bytes_of(text: str, name: str, where: str, unit: float = 1.0) -> float:
    """Bytes: a plain number counts in units of `unit`; `1.2 GB`, `72036K` count in powers of 1024."""
    if text.isdecimal():
        amount = float(text) * unit
    else:
        match = _BYTES.fullmatch(text) if len(text) < 50 else None
        if not match:
            raise _wrong(text, name, where, "not an amount of memory")
        suffixed = match[2] or match[3]
        amount = float(match[1]) * (1024.0 ** " KMGTPE".index(match[2].upper() or " ") if suffixed else unit)
    if amount > MOST_USED_BYTES:
        raise _wrong(text, name, where, "more memory than any machine has")
    return amount


def seconds_of(text: str, name: str, where: str, unit: float = 1.0) -> float:
    """Seconds: a plain number counts in units of `unit`; `1h 2m 3s` and a clock (`1-02:03:04`) are understood."""
    if text.isdecimal():
        seconds = float(text) * unit
    elif len(text) >= 50:
        raise _wrong(text, name, where, "not a length of time")
    elif clock := _CLOCK.fullmatch(text):
        days, days_too, hours, minutes, rest = (float(part or 0) for part in clock.groups())
        seconds = (days + days_too) * 86400 + hours * 3600 + minutes * 60 + rest
    elif (parts := _SPAN.findall(text)) and not _SPAN.sub("", text):
        seconds = sum(float(number) * _SECONDS[part] for number, part in parts)
    else:
        seconds = _plain_seconds(text, name, where) * unit
    if seconds > MOST_SECONDS:
        raise _wrong(text, name, where, "longer than ten years")
    return seconds


def _plain_seconds(text: str, name: str, where: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < _MOST:
        raise _wrong(text, name, where, "not a length of time")
    return seconds


def moment_of(text: str, name: str, where: str, unit: float = 1.0) -> float:
    """Seconds since the epoch; a plain number counts in units of `unit`. Dates without a time zone count as UTC."""
    if text.isdecimal():
        return number_of(text, name, where) * unit
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise _wrong(text, name, where, "not a date") from None


def _wrong(text: str, name: str, where: str, why: str) -> InputError:
    todo = "write it with a decimal point" if _COMMA.match(text) else ""
    if text.startswith("-"):
        why = f"{why}: it is negative"
    return InputError(f"{name} is {short(text)}, {why}", where=where, todo=todo)
