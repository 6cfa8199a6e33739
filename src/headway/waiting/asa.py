"""`asa`: the Adaptive Scheduling Algorithm of Souza et al. 2020."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.random import Generator, Philox

from headway.kernels.asa_rounds import Floats, charge
from headway.model.records import Figure
from headway.waiting.base import Draw, Shape, Wait, WaitModel, geometry, is_wait, uniform

# Souza et al. 2020, §4.3: 53 alternatives up to 100,000 s, most of them tens and hundreds of seconds, without a list.
ALTERNATIVES_S = (
    *(5.0 * step for step in range(20)),
    *(50.0 * step for step in range(2, 20)),
    *(1_000.0 * step for step in range(1, 10)),
    *(10_000.0 * step for step in (1, 2, 4, 6, 8, 10)),
)
REPETITIONS = 50  # of the tuned policy (§4.5)
_NO_DRAWS = np.empty(0)
_SURE = 1e-9  # tolerance for rounding in cumulated probabilities

Policy = Literal["tuned", "default", "greedy"]


class Learned(Struct):
    """What was learned about one geometry."""

    chances: Floats  # the probability of each alternative: p in Algorithm 1
    charged: Floats  # the losses of this round: l in Algorithm 1
    lost: Floats  # all losses so far, for the greedy policy
    rounds: int = 0  # finished rounds: eta in the appendix
    seen: int = 0  # observed waits


class Asa(WaitModel):
    """Predicts the queue wait as one of 53 candidate values, with probabilities updated after every observed wait.

    Souza et al. 2020, Algorithm 1. Each geometry (see `geometry`) has a probability for every alternative, equal at
    first. `predict` samples one by the question's draw. `observe` charges only that alternative: 0 if no other is
    nearer to the actual wait, 1 otherwise (§4.3). When an alternative has been charged more than 1, the round is over
    and each probability is multiplied by exp(-gamma x charged). The paper names no gamma; its proof (appendix A) uses
    1, as we do.

    `policy`: "default" is Algorithm 1. "tuned" (§4.4, §4.5), which the paper evaluates, samples and charges 50 more
    times after each observed wait. "greedy" (§4.4) always predicts the alternative with the least loss so far, of equal
    ones the shortest. A censored wait charges only alternatives that are shorter than it. Unlike the paper's option in
    §3.2, the scheduler's estimate is not used.

    >>> model, shape = Asa(), Shape(nodes=4, asked_s=3600)
    >>> for number in range(30):
    ...     model.observe(shape, model.predict(shape, (0, "asa", "job", number)).ticket, 610.0)
    >>> model.quantiles(shape, [0.5])
    [600.0]
    """

    name = "asa"

    def __init__(
        self, policy: Policy = "tuned", *, alternatives_s: Sequence[float] = ALTERNATIVES_S, seed: int = 0
    ) -> None:
        self.policy = policy
        self.seed = seed
        self._alternatives_s = np.array(alternatives_s, np.float64)
        self._learned: dict[str, Learned] = {}

    def learned(self, shape: Shape) -> Learned:
        """What was learned about jobs of this shape."""
        return self._learned.get(geometry(shape)) or self._new()

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """An alternative, sampled by its probability."""
        known = self.learned(shape)
        if self.policy == "greedy":
            action = int(known.lost.argmin())
        else:
            passed = np.cumsum(known.chances)
            action = min(int(np.searchsorted(passed, uniform(draw), side="right")), passed.size - 1)
        return Wait(float(self._alternatives_s[action]), {"action": float(action)})

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """Quantiles of the probabilities; the greedy policy has one answer for all shares."""
        if self.policy == "greedy":
            return [self.predict(shape).wait_s] * len(shares)
        passed = np.cumsum(self.learned(shape).chances)
        found = np.searchsorted(passed, np.array(shares) - _SURE)
        answers: list[float] = self._alternatives_s[np.minimum(found, passed.size - 1)].tolist()
        return answers

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Charge the alternative that the ticket names; with the tuned policy, 50 more samples."""
        if not is_wait(waited_s):
            return
        kind = geometry(shape)
        known = self._learned.setdefault(kind, self.learned(shape))
        losses = self.losses(waited_s, censored=censored)
        action = ticket.get("action")
        first = int(action) if isinstance(action, (int, float)) and 0 <= action < losses.size else -1
        draws = _NO_DRAWS
        if self.policy == "tuned" and not censored:
            digest = hashlib.blake2b(repr((self.seed, self.name, kind, known.seen)).encode(), digest_size=16).digest()
            draws = Generator(Philox(key=int.from_bytes(digest))).random(REPETITIONS)
        if first >= 0:
            known.lost[first] += losses[first]
        known.rounds = charge(known.chances, known.charged, losses, first, draws, known.rounds)
        known.seen += 1

    def losses(self, waited_s: float, *, censored: bool = False) -> Floats:
        """The loss of each alternative, if it was sampled."""
        away_s = np.abs(self._alternatives_s - waited_s)
        best = int(away_s.argmin())
        losses = np.ones(away_s.size)
        losses[best] = 0.0
        if censored:
            losses[best:] = 0.0
        return losses

    def _new(self) -> Learned:
        count = self._alternatives_s.size
        return Learned(np.full(count, 1.0 / count), np.zeros(count), np.zeros(count))

    def state(self) -> dict[str, Any]:
        """The alternatives, and all that was learned about each geometry."""
        kinds = msgspec.to_builtins(self._learned, enc_hook=np.ndarray.tolist)
        return {"version": 1, "alternatives_s": self._alternatives_s.tolist(), "geometries": kinds}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._alternatives_s = np.array(state["alternatives_s"], np.float64)
        self._learned = msgspec.convert(
            state["geometries"], dict[str, Learned], dec_hook=lambda _, numbers: np.array(numbers, np.float64)
        )


class AsaDefault(Asa):
    """Algorithm 1 of Souza et al. 2020 as published: one sample, one charge."""

    name = "asa-default"

    def __init__(self) -> None:
        super().__init__("default")


class AsaGreedy(Asa):
    """The greedy policy of Souza et al. 2020: the alternative with the least loss so far."""

    name = "asa-greedy"

    def __init__(self) -> None:
        super().__init__("greedy")
