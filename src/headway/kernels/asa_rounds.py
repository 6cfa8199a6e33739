"""The rounds of 000's Algorithm 1: who was sampled is charged, and after a round the probabilities change."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headway.kernels.compiled import compiled_when_busy

Floats = NDArray[np.float64]


@compiled_when_busy(calls=50)
def charge(
    chances: Floats, charged: Floats, losses: Floats, first: int, draws: Floats, gamma: float, slowing: float, over: int
) -> int:
    """Charge action `first` (if it is not below 0), then one sampled for each of `draws`; how many rounds are over now.

    000 Algorithm 1, lines 3-7: an action that is sampled adds its loss to what is `charged`; when one has been charged
    more than 1 the round is over, every action's chance is multiplied by exp(-gamma_t x charged) and normalised, and
    the next round begins with nothing charged. gamma_t is gamma / t^slowing in round t, `over` how many were before.
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
        rate = gamma / over**slowing
        total = 0.0
        for each in range(chances.size):
            if charged[each] > 0.0:
                chances[each] *= math.exp(-rate * charged[each])
            total += chances[each]
            charged[each] = 0.0
        for each in range(chances.size):
            chances[each] /= total
    return over
