"""Figures as short text (`84%`, `420 MB`), and foreign text made safe for a terminal."""

from __future__ import annotations

import re
import time

from headway.model.units import format_bytes, format_duration

NOTHING = "-"

_LONGEST_LINE = 400
# Output of tasks and names in files may contain escape sequences that a terminal would execute.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def share(value: float | None) -> str:
    """A fraction as a percentage: `84%`, `0.4%`."""
    if value is None:
        return NOTHING
    percent = 100 * value
    if 0 < percent < 0.95:
        return f"{percent:.1f}%" if percent >= 0.05 else "<0.1%"
    return f"{percent:.0f}%"


def amount(resource: str, value: float | None) -> str:
    """An amount of a resource, in the unit that its name implies: `420 MB`, `0.98`, `3m 05s`."""
    if value is None:
        return NOTHING
    if resource.endswith("_bytes"):
        return format_bytes(value)
    if resource.endswith("_s"):
        return format_duration(value)
    return f"{value:.2f}".rstrip("0").rstrip(".")


def held(resource: str, value: float) -> str:
    """An amount times a duration, given in amount x seconds: `3.2 GB·s`, `1.5 TB·h`, `12 core·s`."""
    in_bytes = resource.endswith("_bytes")
    unit = "s"
    if abs(value) >= (1e12 if in_bytes else 1e3):
        value, unit = value / 3600, "h"
    return f"{format_bytes(value)}·{unit}" if in_bytes else f"{value:.3g} core·{unit}"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `10,000 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def clock(at: float) -> str:
    """The local time of day: `14:05:09`."""
    return _local("%H:%M:%S", at)


def moment(at: float) -> str:
    """The local date and time: `2024-03-01 14:05:09`."""
    return _local("%Y-%m-%d %H:%M:%S", at)


def _local(form: str, at: float) -> str:
    """The local time in a form; a time that no calendar has, as a damaged journal may hold, is `an unknown time`."""
    try:
        return time.strftime(form, time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return "an unknown time"


def stopwatch(seconds: float) -> str:
    """Elapsed time in a form of stable width for a live display: `0:07`, `12:34`, `1:02:03`, `2d 03:04:05`."""
    whole = int(seconds)
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    if days:
        return f"{days}d {hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def first_line(text: str) -> str:
    """The first line of a text such as a command, cut if it is long; a mark says that more lines follow."""
    first, _, more = text.strip().partition("\n")
    return harmless(first)[:_LONGEST_LINE] + " …" * bool(more)


def harmless(text: str) -> str:
    """`text` without terminal escape sequences and control characters, except for newlines."""
    return _ESCAPES.sub("", text.replace("\t", "    "))
