"""WHEN? Every built-in timing by name."""

from __future__ import annotations

from headway.timing.after_end import AfterEnd
from headway.timing.ahead import Ahead
from headway.timing.base import Timing
from headway.timing.on_start import OnStart

TIMINGS: dict[str, type[Timing]] = {timing.name: timing for timing in (AfterEnd, OnStart, Ahead)}
