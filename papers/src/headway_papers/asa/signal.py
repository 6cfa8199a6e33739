"""Figure 5's wait: constant, and another at five times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.waiting.asa import ALTERNATIVES_S

ITERATIONS = 1000
CHANGES = (0, 200, 400, 600, 800)  # 000 §4.4: where the wait becomes another
_SHORTEST_S = 5.0


def waits_s(seed: int, changes: Sequence[int] = CHANGES, iterations: int = ITERATIONS) -> list[float]:
    """The wait at each iteration. 000 says that it is drawn at random, not how.

    Ours is log-uniform from five seconds to 100,000 s, so that short waits are as frequent as long ones; at each change
    another alternative is nearest.
    """
    draw = np.random.Generator(np.random.Philox(key=[seed, 5]))
    levels: list[float] = []
    for _ in changes:
        while True:
            level = float(round(_SHORTEST_S * (ALTERNATIVES_S[-1] / _SHORTEST_S) ** draw.random()))
            if not levels or nearest(level) != nearest(levels[-1]):
                levels.append(level)
                break
    ends = [*changes[1:], iterations]
    return [level for level, begin, end in zip(levels, changes, ends, strict=True) for _ in range(end - begin)]


def nearest(wait_s: float, alternatives_s: Sequence[float] = ALTERNATIVES_S) -> int:
    """The alternative that is right."""
    return int(np.abs(np.asarray(alternatives_s) - wait_s).argmin())
