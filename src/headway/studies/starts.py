"""When workflows start: evenly spread over a log, or at fixed intervals."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable

import numpy as np

from headway.model.errors import InputError
from headway.model.units import format_duration

_GOLDEN = (5**0.5 - 1) / 2
_MINUTE_S = 60.0


def bounds(name: str, last_submit_s: float, warm_up_s: float) -> tuple[float, float]:
    """The first and last possible start: a warm-up after the log's beginning and as long before its end."""
    first_s, last_s = warm_up_s, last_submit_s - warm_up_s
    if last_s <= first_s:
        raise InputError(
            f"this log has {format_duration(last_submit_s)}, too little for a warm-up of {format_duration(warm_up_s)} "
            "at either end",
            where=name,
            todo="shorten it with --warm-up, or take a longer log",
        )
    return first_s, last_s


def spread(name: str, first_s: float, last_s: float, count: int, seed: int) -> list[float]:
    """`count` starts on whole minutes; a greater `count` gives the same starts and more.

    Multiples of the golden ratio, modulo one, from a seeded beginning: each start falls into one of the widest gaps,
    and they are spread over the hours of the day.
    """
    draw = float(np.random.Generator(np.random.Philox(key=[seed, zlib.crc32(name.encode())])).random())
    parts = [(draw + _GOLDEN * number) % 1.0 for number in range(count)]
    return _minutes(first_s + part * (last_s - first_s) for part in parts)


def every(first_s: float, last_s: float, step_s: float) -> list[float]:
    """Starts at intervals of `step_s`, on whole minutes."""
    return _minutes(first_s + step_s * number for number in range(math.ceil((last_s - first_s) / step_s)))


def _minutes(times_s: Iterable[float]) -> list[float]:
    return list(dict.fromkeys(round(at / _MINUTE_S) * _MINUTE_S for at in times_s))
