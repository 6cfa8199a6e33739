"""Figure 5: the learner alone, on a wait that changes five times."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from statistics import fmean

import numpy as np
from msgspec import Struct

from headway.waiting.asa import ALTERNATIVES_S, Asa, Policy
from headway.waiting.base import Shape

ITERATIONS = 1000
CHANGES = (0, 200, 400, 600, 800)  # §4.4: the iterations at which the wait changes
_SHORTEST_S = 5.0

POLICIES: tuple[Policy, ...] = ("default", "tuned", "greedy")
SURE = 0.5  # the right alternative has a higher probability than all others together
DELTA = 0.05  # the bound holds with probability 1 - delta
_SHAPE = Shape(nodes=4, asked_s=3600.0)


class Step(Struct, frozen=True):
    """One iteration."""

    wait_s: float
    said_s: float
    best: int  # the alternative that is nearest to the wait
    right: bool  # the prediction was that one
    chance: float  # probability of the right alternative after the wait was observed; 0 or 1 for a greedy learner
    rounds: int  # completed so far


class Trial(Struct, frozen=True):
    """A policy on one signal."""

    policy: Policy
    seed: int
    steps: list[Step]
    alternatives: int


class Recovery(Struct, frozen=True):
    """How fast a policy followed one change of the wait."""

    policy: Policy
    seed: int
    at: int
    iterations: int | None  # until the right alternative had probability > SURE; None: not before the next change
    right: float  # share of answers until the next change


class Regret(Struct, frozen=True):
    """Loss beyond that of the best single alternative in the first `iterations`, and the appendix's bound."""

    policy: Policy
    iterations: int
    lost: int
    best_lost: int
    rounds: int
    bound: float

    @property
    def regret(self) -> int:
        """Left-hand side of Theorem 1."""
        return self.lost - self.best_lost

    @property
    def holds(self) -> bool:
        """Whether the regret keeps the bound."""
        return self.regret <= self.bound


def waits_s(seed: int, changes: Sequence[int] = CHANGES, iterations: int = ITERATIONS) -> list[float]:
    """The wait at each iteration: constant, with another value after each change.

    The paper draws the values at random and does not say how. Ours are log-uniform from 5 s to 100,000 s, so that short
    waits are as frequent as long ones; after each change another alternative is the nearest.
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
    """The number of the alternative that is nearest to a wait."""
    return int(np.abs(np.asarray(alternatives_s) - wait_s).argmin())


def trial(
    policy: Policy, signal_s: Sequence[float], seed: int = 0, alternatives_s: Sequence[float] = ALTERNATIVES_S
) -> Trial:
    """Let a policy predict each wait of a signal and observe it."""
    model = Asa(policy, alternatives_s=alternatives_s, seed=seed)
    steps = []
    for number, wait_s in enumerate(signal_s):
        said = model.predict(_SHAPE, (seed, policy, "figure 5", number))
        right = nearest(wait_s, alternatives_s)
        model.observe(_SHAPE, said.ticket, wait_s)
        known = model.learned(_SHAPE)
        if policy == "greedy":
            chance = float(nearest(model.predict(_SHAPE).wait_s, alternatives_s) == right)
        else:
            chance = float(known.chances[right])
        steps.append(Step(wait_s, said.wait_s, right, said.ticket["action"] == right, chance, known.rounds))
    return Trial(policy, seed, steps, len(alternatives_s))


def trials(seeds: Sequence[int]) -> list[Trial]:
    """Every policy on the signal of every seed."""
    return [trial(policy, waits_s(seed), seed) for policy in POLICIES for seed in seeds]


def recoveries(found: Trial, changes: Sequence[int] = CHANGES) -> list[Recovery]:
    """How long the policy took after each change, counted from one."""
    ends = [*changes[1:], len(found.steps)]
    answers = []
    for begin, end in zip(changes, ends, strict=True):
        steps = found.steps[begin:end]
        sure = next((number for number, step in enumerate(steps, start=1) if step.chance > SURE), None)
        answers.append(Recovery(found.policy, found.seed, begin, sure, fmean(step.right for step in steps)))
    return answers


def regrets(found: Trial, first: int = 0, last: int | None = None) -> list[Regret]:
    """After each iteration from `first` on; the best single alternative is chosen anew for each.

    Appendix A, Theorem 1. With a loss of 0 or 1 an alternative's loss is the number of waits that another is nearer to.
    """
    steps = found.steps[first:last]
    before = found.steps[first - 1].rounds if first else 0
    lost = 0
    times_right: dict[int, int] = {}
    answers = []
    for count, step in enumerate(steps, start=1):
        lost += not step.right
        times_right[step.best] = times_right.get(step.best, 0) + 1
        best_lost = count - max(times_right.values())
        rounds = step.rounds - before
        limit = bound(rounds, count, found.alternatives)
        answers.append(Regret(found.policy, count, lost, best_lost, rounds, limit))
    return answers


def bound(rounds: int, iterations: int, alternatives: int, delta: float = DELTA) -> float:
    """The right-hand side of Theorem 1.

    >>> round(bound(rounds=10, iterations=200, alternatives=53), 1)
    96.8
    """
    return 4 * rounds + log(alternatives) + sqrt(2 * iterations * log(alternatives / delta))
