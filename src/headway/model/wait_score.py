"""`WaitScore`: how accurate a wait model was."""

from __future__ import annotations

from msgspec import Struct


class WaitScore(Struct, frozen=True):
    """Errors over many jobs, each predicted when it was submitted.

    By share, written `0.9`: the share of waits within the quantile (`covered`), and its mean pinball loss
    (`pinball_s`), which is share x (wait - quantile) for a wait above the quantile and (1 - share) x (quantile - wait)
    for one below; the true quantile has the least.
    """

    name: str  # of the model
    jobs: int
    mean_wait_s: float
    absolute_error_s: float  # mean
    error_s: float  # mean; above 0 if predictions are too long
    to_plan: float | None  # the mean absolute error over that of the scheduler's own estimate; None if that is 0
    to_wait: float | None  # the mean absolute error over the mean wait
    covered: dict[str, float]
    pinball_s: dict[str, float]

    @property
    def mean_pinball_s(self) -> float:
        """The mean pinball loss over all shares."""
        return sum(self.pinball_s.values()) / len(self.pinball_s)
