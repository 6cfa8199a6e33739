"""`WaitScore`: how right a model of queue waits was."""

from __future__ import annotations

from msgspec import Struct


class WaitScore(Struct, frozen=True):
    """Figures over many jobs, each asked about when it was submitted.

    By share, written `0.9`: how many waits were within the quantile (`covered`), and its loss (`pinball_s`), that is
    share x (wait - quantile) for a wait above it and (1 - share) x (quantile - wait) for one below: the true
    quantile has the least.
    """

    name: str  # of the model
    jobs: int
    mean_wait_s: float
    absolute_error_s: float  # mean
    error_s: float  # mean; above 0 if waits are said to be longer than they are
    to_plan: float | None  # the mean absolute error beside that of the scheduler's own estimate, if that errs at all
    to_wait: float | None  # and beside the mean wait
    covered: dict[str, float]
    pinball_s: dict[str, float]

    @property
    def mean_pinball_s(self) -> float:
        """Over all shares."""
        return sum(self.pinball_s.values()) / len(self.pinball_s)
