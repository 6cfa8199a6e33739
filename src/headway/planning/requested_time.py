"""How much time to ask for, when so much is expected to be needed."""

from __future__ import annotations

import math

# 002's simulator: a tenth more and a minute; after a job that was too short a fifth, then half as much again. Ours:
# twice that and so on, or a task of which too little was expected would never end.
FACTORS = (1.1, 1.2, 1.5)
MARGIN_S = 60.0


def requested_s(expected_s: float, expired: int = 0) -> float:
    """Whole seconds; `expired`: how many jobs have proved too short so far."""
    beyond = max(0, expired - len(FACTORS) + 1)
    factor = FACTORS[min(expired, len(FACTORS) - 1)] * 2**beyond
    return float(math.ceil(expected_s * factor + MARGIN_S))
