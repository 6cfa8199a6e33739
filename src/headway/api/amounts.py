"""Amounts of cores, memory and disk, as users write them."""

from __future__ import annotations

from headway.model.errors import InputError
from headway.model.units import parse_bytes


def parse_cores(text: str) -> float:
    """Read a number of cores, which may be a fraction."""
    try:
        cores = float(text)
    except ValueError:
        cores = 0.0
    if not 0 < cores < 2**31:
        raise InputError(f"{text!r} is not a number of cores", todo="write for example 4 or 0.5")
    return cores


def parse_share(text: str | float) -> float:
    """Read a share of attempts, as 3% or 0.03; `any` is all of them.

    >>> parse_share("3%"), parse_share("any"), parse_share(0)
    (0.03, 1.0, 0.0)
    """
    number, percent, rest = str(text).strip().partition("%")
    try:
        share = 1.0 if number == "any" else float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 or rest:
        raise InputError(f"{text!r} is not a share of attempts", todo="write for example 3%, or any")
    return share


def parse_size(text: str) -> float:
    """Read an amount of memory or disk in bytes; it must be at least one byte."""
    size = parse_bytes(text)
    if size < 1:
        raise InputError(f"{text!r} is no memory or disk at all", todo="write for example 200 MB or 1.5 GiB")
    return size
