"""Queries that are sent at a limited rate, and less often while they fail."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

_log = logging.getLogger(__name__)

_LONGEST_BACK_OFF = 12  # times the first
Found = TypeVar("Found")


class Paced(Generic[Found]):
    """Asks a question at most once in an interval, and less often after failures; meanwhile the last answer counts."""

    def __init__(self, question: Callable[[], Found | None], interval_s: float, retry_s: float | None = None) -> None:
        self._question = question
        self._interval_s = interval_s
        self._retry_s = interval_s if retry_s is None else retry_s
        self._lock = threading.Lock()
        self._last: Found | None = None
        self._next_at = 0.0
        self._failures = 0

    def answer(self, *, now: bool = False) -> Found | None:
        """Return the last answer, or a new one if that is due or wanted `now`; None if there was none yet."""
        with self._lock:
            if now or time.monotonic() >= self._next_at:
                found = self._question()
                self._failures = 0 if found is not None else min(self._failures + 1, 10)
                back_off_s = self._retry_s * min(2.0**self._failures, _LONGEST_BACK_OFF)
                self._next_at = time.monotonic() + (back_off_s if self._failures else self._interval_s)
                if found is not None:
                    self._last = found
                else:
                    _log.info("no answer from Slurm (failure %d), next try in %g s", self._failures, back_off_s)
            return self._last

    @property
    def silent(self) -> bool:
        """Whether there was never an answer."""
        return self._last is None
