"""Questions that are asked seldom, and less often while nobody answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_LONGEST_BACK_OFF = 12  # times the first
Found = TypeVar("Found")


class Paced(Generic[Found]):
    """A question that is asked at most once in an interval, and less often after failures.

    In between the last answer holds.
    """

    def __init__(self, question: Callable[[], Found | None], interval_s: float, retry_s: float | None = None) -> None:
        self._question = question
        self._interval_s = interval_s
        self._retry_s = interval_s if retry_s is None else retry_s
        self._lock = threading.Lock()
        self._last: Found | None = None
        self._next_at = 0.0
        self._failures = 0

    def answer(self, *, now: bool = False) -> Found | None:
        """The last answer, a new one if it is time (or is wanted now); None if there was none yet."""
        with self._lock:
            if now or time.monotonic() >= self._next_at:
                found = self._question()
                self._failures = 0 if found is not None else min(self._failures + 1, 10)
                back_off_s = self._retry_s * min(2.0**self._failures, _LONGEST_BACK_OFF)
                self._next_at = time.monotonic() + (back_off_s if self._failures else self._interval_s)
                if found is not None:
                    self._last = found
            return self._last

    @property
    def silent(self) -> bool:
        """Whether nobody has ever answered."""
        return self._last is None
