"""The contract of WHEN: the time at which the next job is submitted."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec import Struct

NOT_YET = math.inf  # submit after another event: the time cannot be told yet


class Predecessor(Struct, frozen=True):
    """A live job of the run. Times are absolute; the first two are None while the job waits."""

    tag: str
    expected_end: float | None
    latest_end: float | None  # when its walltime is used up
    earliest_end: float  # if each waiting job starts as soon as those before it have ended


class Timing(ABC):
    """Says when the next job is submitted. A timing has no state."""

    name: str
    depends: bool = False  # submit with a dependency on the end of the predecessor
    covers: float | None = None  # the quantile of the wait to plan with; None: the wait model's prediction
    resubmits: bool = False  # cancel a job that starts too early and submit it again

    @abstractmethod
    def may_be_due(self, live: Sequence[Predecessor]) -> bool:
        """Whether the next job may be due now; if not, none is planned."""

    @abstractmethod
    def submit_at(self, live: Sequence[Predecessor], wait_s: float, now: float) -> float:
        """When to submit a job that is expected to wait `wait_s`; NOT_YET if that cannot be told."""

    def delay_s(self, live: Sequence[Predecessor], now: float) -> float:
        """How long the next job would be idle if it started now: until the last predecessor's walltime ends."""
        return max((job.latest_end - now for job in live if job.latest_end is not None), default=0.0)
