"""Parse and format amounts: `2 GB`, `1.5GiB`, `90m`, `1-02:00:00`."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, Decimal

from headway.model.errors import InputError
from headway.model.limits import MOST_ASKED_S, MOST_BYTES

_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_BYTE_UNITS: dict[str, int] = (
    {f"{prefix}b": factor for prefix, factor in _DECIMAL.items()}
    | {prefix: factor for prefix, factor in _DECIMAL.items() if prefix}
    | {f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgtp", start=1)}
)
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400, "w": 604800}
_SECONDS |= {f"{unit}s": seconds for unit, seconds in _SECONDS.items() if len(unit) > 1}

_NUMBER = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_BYTES = re.compile(rf"({_NUMBER})\s*([a-z]+)", re.IGNORECASE)
_SPAN = re.compile(rf"(?<![\d.])({_NUMBER})\s*([a-z]+)\s*", re.IGNORECASE)
_LONGEST_TEXT = 100
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d{2})(?::(\d{2}))?")


def parse_bytes(text: str) -> int:
    """The number of bytes that `text` means. Decimal units count in thousands, `KiB` and its like in 1024.

    >>> parse_bytes("2 GB"), parse_bytes("1.5GiB")
    (2000000000, 1610612736)
    """
    match = _BYTES.fullmatch(_short(text))
    factor = _BYTE_UNITS.get(match[2].lower()) if match else None
    if match and float(match[1]) > MOST_BYTES:
        factor = None  # before it is computed exactly: an exponent may have many digits
    amount = (Decimal(match[1]) * factor).to_integral_value(ROUND_CEILING) if match and factor else None
    if amount is None or amount > MOST_BYTES:
        raise InputError(
            f"{text[:_LONGEST_TEXT]!r} is not an amount of memory or disk", todo="write for example 200 MB or 1.5 GiB"
        )
    return int(amount)


def parse_duration(text: str) -> float:
    """The number of seconds that `text` means: units (`90m`, `1h 30min`) or a clock as Slurm writes it.

    >>> parse_duration("90m"), parse_duration("1-02:00:00"), parse_duration("05:00")
    (5400.0, 93600.0, 300.0)
    """
    cleaned = _short(text)
    seconds = _clock_seconds(cleaned) if ":" in cleaned else _span_seconds(cleaned)
    if seconds is None or seconds > MOST_ASKED_S:
        raise InputError(
            f"{text[:_LONGEST_TEXT]!r} is not a length of time", todo="write for example 45s, 90m, 2h or 1-02:00:00"
        )
    return seconds


def _clock_seconds(text: str) -> float | None:
    clock = _CLOCK.fullmatch(text)
    if not clock:
        return None
    days, first, second, third = (int(part) if part else 0 for part in clock.groups())
    if clock[4] is None and clock[1] is None:  # Slurm's MM:SS; with days it is D-HH:MM
        return float(first * 60 + second)
    return float(days * 86400 + first * 3600 + second * 60 + third)


def _span_seconds(text: str) -> float | None:
    spans = _SPAN.findall(text)
    if not spans or _SPAN.sub("", text) or any(unit.lower() not in _SECONDS for _, unit in spans):
        return None
    return math.fsum(float(number) * _SECONDS[unit.lower()] for number, unit in spans)


def _short(text: str) -> str:
    """The stripped text; empty if it is longer than any amount, so that the patterns cannot be made slow."""
    return text.strip() if len(text) <= _LONGEST_TEXT else ""


def format_bytes(amount: float) -> str:
    """Three significant digits and a decimal unit.

    >>> format_bytes(1_610_612_736), format_bytes(2e9)
    ('1.61 GB', '2 GB')
    """
    for prefix, factor in reversed(_DECIMAL.items()):
        if amount >= factor * 0.9995 and prefix:
            digits = f"{amount / factor:.3g}" if amount < 999.5 * factor else f"{amount / factor:.0f}"
            return f"{digits} {'kB' if prefix == 'k' else prefix.upper() + 'B'}"
    return f"{amount:.0f} B"


def exact_bytes(amount: float) -> str:
    """All digits and a unit, for options: `parse_bytes` gives the same amount.

    >>> exact_bytes(2e9), exact_bytes(1_610_612_736)
    ('2GB', '1610612736B')
    """
    short = format_bytes(amount).replace(" ", "")
    return short if parse_bytes(short) == amount else f"{amount:.0f}B"


def format_duration(seconds: float) -> str:
    """Short and readable: `40 ms`, `0.31 s`, `42 s`, `3m 05s`, `2h 10m`, `1d 02h`."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 59.95:
        return f"{seconds:.3g} s"
    for size, large, part, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if round(seconds) >= size:
            whole = round(seconds / part) * part
            return f"{whole // size}{large} {whole % size // part:02d}{small}"
    return "1m 00s"
