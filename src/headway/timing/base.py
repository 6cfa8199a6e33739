"""The contract of WHEN: at which time the next job is asked for, and what to do if it comes too early."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec import Struct

NOT_YET = math.inf  # something else has to happen first


class Predecessor(Struct, frozen=True):
    """A job of ours that waits or runs. Times are absolute; None: it waits."""

    tag: str
    expected_end: float | None
    latest_end: float | None  # when all that it asked for is used up
    earliest_end: float  # one that waits may start as soon as those before it have ended


class Timing(ABC):
    """Says when the next job is submitted. It keeps nothing in mind."""

    name: str
    depends: bool = False  # whether the scheduler is told that the job waits for its predecessor's end
    covers: float | None = None  # which share of waits it reckons with; None: with what the wait model predicts
    resubmits: bool = False  # whether a job that comes too early is given back and asked for again

    @abstractmethod
    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        """Whether it is worth thinking about the next job now."""

    @abstractmethod
    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        """When a job that is expected to wait so long is to be submitted; NOT_YET if that cannot be told."""

    def delay_s(self, live: Sequence[Predecessor], now: float) -> float:
        """How long the next job has nothing to do, if it started now: its predecessors run that long at most."""
        return max((job.latest_end - now for job in live if job.latest_end is not None), default=0.0)
