"""The walltime to request for an expected run time."""

from __future__ import annotations

import math

# The simulator of the GLUME thesis adds a tenth and a minute; after an expired job a fifth, then half. Beyond that we
# double with each expiry, or a task with far too low an estimate would never end.
FACTORS = (1.1, 1.2, 1.5)
MARGIN_S = 60.0


def requested_s(expected_s: float, expired: int = 0) -> float:
    """The walltime to request, in whole seconds; `expired` is the number of jobs that were too short so far.

    >>> requested_s(100.0), requested_s(100.0, expired=1), requested_s(100.0, expired=4)
    (170.0, 180.0, 660.0)
    """
    beyond = max(0, expired - len(FACTORS) + 1)
    factor = FACTORS[min(expired, len(FACTORS) - 1)] * 2**beyond
    return float(math.ceil(expected_s * factor + MARGIN_S))
