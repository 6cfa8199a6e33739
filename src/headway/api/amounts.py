"""Amounts of cores, memory and disk, as users write them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from headway.model.errors import InputError
from headway.model.job import JOB_NAME
from headway.model.preference import Preference
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


def parse_budget(text: str | float) -> float:
    """Read a number of core-hours.

    >>> parse_budget("500"), parse_budget(0.5)
    (500.0, 0.5)
    """
    try:
        core_hours = float(text)
    except ValueError:
        core_hours = math.nan
    if not 0 < core_hours < math.inf:
        raise InputError(f"{text!r} is not a number of core-hours", todo="write for example 500, or 0.5")
    return core_hours


def parse_preference(text: str | float) -> str:
    """Read what an hour sooner is worth: `time`, `balanced`, `cost` or a number of core-hours."""
    Preference.of(text)
    return str(text).strip()


def parse_partitions(texts: Iterable[str]) -> dict[str, int]:
    """Read the nodes of partitions, each as NUMBER=NODES.

    >>> parse_partitions(["2=32", "3=8"])
    {'2': 32, '3': 8}
    """
    found: dict[str, int] = {}
    for text in texts:
        number, _, nodes = (part.strip() for part in text.partition("="))
        if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in (number, nodes)) or int(nodes) < 1:
            todo = "write for example --partitions 2=32,3=8"
            raise InputError(f"{text!r} is not a partition's number with its nodes", where="--partitions", todo=todo)
        if str(int(number)) in found:
            raise InputError(f"partition {number} stands there twice", where="--partitions", todo="state it once")
        found[str(int(number))] = int(nodes)
    return found


def parse_gpu_memory(text: str) -> dict[str, int]:
    """Read the memory of types of GPUs in bytes, each as TYPE=SIZE.

    >>> parse_gpu_memory("a100=40 GB, h200=141 GB")
    {'a100': 40000000000, 'h200': 141000000000}
    """
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, size = (piece.strip() for piece in part.partition("="))
        if not JOB_NAME.fullmatch(name) or not size:
            todo = 'write for example gpu-memory = ["a100=40 GB", "h200=141 GB"]'
            raise InputError(f"{part.strip()!r} is not a type of GPU with its memory", where="gpu-memory", todo=todo)
        found[name] = int(parse_size(size))
    return found


def parse_size(text: str) -> float:
    """Read an amount of memory or disk in bytes; it must be at least one byte."""
    size = parse_bytes(text)
    if size < 1:
        raise InputError(f"{text!r} is no memory or disk at all", todo="write for example 200 MB or 1.5 GiB")
    return size
