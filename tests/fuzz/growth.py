"""Measures how the cost of reading a text grows with its length.

Cost is the processor time of this thread, the least of several tries: counters of instructions are not available
everywhere, and a count of Python's own steps does not see regular expressions and other C code. The bound is wide
enough for a busy machine: of a text that is 16 times as long, n log n costs about 25 times as much, n² 256 times.
"""

from __future__ import annotations

import gc
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from tests.fuzz.law import MOST_CPU_S, TooSlow, plain_kernels, time_limited

LENGTHS = (1_500, 12_000)  # letters, as many as the header of a request may have
TOLERANCE = 3.0
_CHEAP_S = 2e-7  # for a letter; n² takes longer for texts of this length, and what is cheap is not compared
_TICK_S = 1e-6  # of a coarse clock
_SHORTER = 16
_TRIES = 5


class Growing(NamedTuple):
    """A text of any length: one piece again and again, between a beginning and an end.

    With `numbered`, zeros in the piece count its repetitions, so that no two are the same.
    """

    before: str
    piece: str
    after: str = ""
    numbered: bool = False

    def text(self, length: int) -> str:
        """The text with about this many letters between its beginning and its end."""
        times = max(1, length // len(self.piece))
        if not self.numbered:
            return self.before + self.piece * times + self.after
        return self.before + "".join(self.piece.replace("0", str(number)) for number in range(times)) + self.after


def growth(read: Callable[[str], object], growing: Growing) -> float:
    """How much faster than n log n the cost grows: about 1 for n log n, 12 for n², infinite for what does not end."""
    found = 0.0
    with _undisturbed():
        for length in LENGTHS:
            try:
                found = max(found, _growth_until(read, growing, length))
            except TooSlow:
                return math.inf
            if found > TOLERANCE:
                break
    return found


def _growth_until(read: Callable[[str], object], growing: Growing, length: int) -> float:
    """The same, from a text that is 16 times shorter to one of this length; 0 if that is cheap."""
    short, long = growing.text(length // _SHORTER), growing.text(length)
    cost_s = _cost_s(read, long)
    if cost_s < _CHEAP_S * length:
        return 0.0
    allowed = _SHORTER * math.log(length) / math.log(length / _SHORTER)
    found = math.inf
    for _ in range(_TRIES):
        found = cost_s / max(_TICK_S, min(_cost_s(read, short) for _ in range(_TRIES))) / allowed
        if found <= TOLERANCE:
            break
        cost_s = min(cost_s, _cost_s(read, long))
    return found


def _cost_s(read: Callable[[str], object], text: str) -> float:
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_S)
    begin_s = time.thread_time()
    with suppress(Exception):  # what a reader may raise is checked elsewhere
        read(text)
    return time.thread_time() - begin_s


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let neither the collection of garbage nor the compilation of kernels count."""
    gc.collect(0)
    gc.disable()
    try:
        with plain_kernels(), time_limited():
            yield
    finally:
        gc.enable()
