"""The rounds of Algorithm 1 of Souza et al. 2020: sampled actions are charged; after a round probabilities change."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def charge(chances: Floats, charged: Floats, losses: Floats, first: int, draws: Floats, over: int) -> int:
    """Charge action `first` (unless negative), then one sampled for each of `draws`; return how many rounds are over.

    Souza et al. 2020, Algorithm 1, lines 3-7: a sampled action's loss is added to what it is charged. When an action
    has been charged more than 1, the round is over: every action's chance is multiplied by exp(-charged) and
    normalised, and the next round begins with nothing charged. `over` is the number of rounds before.
    """
    for turn in range(-1, draws.size):
        action = first
        if turn >= 0:
            action = 0
            passed = chances[0]
            while action < chances.size - 1 and passed <= draws[turn]:
                action += 1
                passed += chances[action]
        if action < 0:
            continue
        charged[action] += losses[action]
        if charged[action] <= 1.0:
            continue
        over += 1
        total = 0.0
        for each in range(chances.size):
            if charged[each] > 0.0:
                chances[each] *= math.exp(-charged[each])
            total += chances[each]
            charged[each] = 0.0
        for each in range(chances.size):
            chances[each] /= total
    return over
