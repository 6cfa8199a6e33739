"""The walltime to request for an expected run time."""

from __future__ import annotations

import math

# The simulator of the GLUME thesis adds a tenth and a minute; after an expired job a fifth, then half. Beyond that we
# double with each expiry, or a task with far too low an estimate would never end.
FACTORS = (1.1, 1.2, 1.5)
MARGIN_S = 60.0
# A task that is expected to run longer than the site's longest walltime still starts in a job that has this share of
# that walltime left; otherwise it would wait for ever.
LONGEST_SHARE = 0.8


OVERDUE = 0.25  # a task that has run longer than expected is taken to need this share of that time more


def left_s(expected_s: float, ran_s: float) -> float:
    """How much longer a task is expected to run that has run for so long.

    >>> left_s(100.0, 30.0), left_s(100.0, 200.0)
    (70.0, 50.0)
    """
    return expected_s - ran_s if ran_s < expected_s else OVERDUE * ran_s


def longer_s(expected_s: float, cut_off: int, most_s: float | None) -> float:
    """The time that a job must have left for a task that was so often running when its job reached its walltime.

    Each time doubles it, up to a share of the longest walltime that a job can have.

    >>> longer_s(100.0, 2, None), longer_s(100.0, 2, 300.0)
    (400.0, 240.0)
    """
    return min(expected_s * 2.0**cut_off, math.inf if most_s is None else LONGEST_SHARE * most_s)


def requested_s(expected_s: float, expired: int = 0) -> float:
    """The walltime to request, in whole seconds; `expired` is the number of jobs that were too short so far.

    >>> requested_s(100.0), requested_s(100.0, expired=1), requested_s(100.0, expired=4)
    (170.0, 180.0, 660.0)
    """
    beyond = max(0, expired - len(FACTORS) + 1)
    factor = FACTORS[min(expired, len(FACTORS) - 1)] * 2**beyond
    return float(math.ceil(expected_s * factor + MARGIN_S))
