"""The contract of HOW LONG A QUEUE: a job's shape in, its predicted wait out."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field, structs

from headway.model.limits import MOST_ASKED_S, MOST_SECONDS
from headway.model.records import Figure

Draw = tuple[int, str, str, int]  # seed, policy, job, attempt: determines a random choice
_SHORTEST_S = 900.0  # the shortest and the longest band of requested times
_LONGEST_S = 4.0**4 * _SHORTEST_S


class Shape(Struct, frozen=True):
    """What a job requests. `estimate_s`: its wait by the scheduler's own plan, if that was read.

    `seen`: what else is known when it is submitted, by name: numbers (hour, weekday, cores, memory, gpus, priority,
    fairshare, jobs waiting, work ahead, ...) and words (queue, account, reason). Any names will do, if they stay.
    """

    nodes: int
    asked_s: float
    estimate_s: float | None = None
    seen: dict[str, float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take times that cannot be for what they most likely mean: a scheduler may say anything."""
        if not 0 <= self.asked_s <= MOST_ASKED_S:
            structs.force_setattr(self, "asked_s", MOST_ASKED_S if self.asked_s > 0 else 0.0)
        if self.estimate_s is not None and not 0 <= self.estimate_s <= MOST_SECONDS:
            possible = min(max(0.0, self.estimate_s), MOST_SECONDS) if math.isfinite(self.estimate_s) else None
            structs.force_setattr(self, "estimate_s", possible)


def is_wait(waited_s: float) -> bool:
    """Whether a job can have waited that long: a model learns from nothing else."""
    return 0 <= waited_s <= MOST_SECONDS


class Wait(Struct, frozen=True):
    """A predicted wait, and what the model needs to learn from the actual one."""

    wait_s: float
    ticket: dict[str, Figure] = field(default_factory=dict)


class WaitModel(ABC):
    """Predicts how long jobs wait in the queue, and learns from actual waits.

    `predict` returns one wait to plan with; a model that explores may draw it at random, always the same for the same
    `draw`. `quantiles` returns the distribution. The caller reports each actual wait to `observe`, with the ticket that
    `predict` returned; `censored` means that the job was withdrawn after waiting that long.

    `predict` and `quantiles` change nothing: the same question in the same state gets the same answer. A model knows
    only what `observe` was told, so that a caller who reports waits when jobs start gets honest predictions.
    """

    name: str
    learns = True  # whether `observe` changes the answers

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """The expected wait of such a job if it is submitted now: the median, unless the model knows better."""
        return Wait(self.quantiles(shape, [0.5])[0])

    @abstractmethod
    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """The quantiles of the wait at these shares; they never fall as the share grows."""

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Learn from the wait of a job."""

    def state(self) -> dict[str, Any]:
        """All that was learned, as JSON with a `version`."""
        return {"version": 1}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""


def geometry(shape: Shape) -> str:
    """The name of the class in which wait models learn about such jobs, apart from others.

    Souza et al. 2020 keep their state "in a per job-geometry basis" (§5) and leave open what a geometry is. Here it is
    the number of nodes, rounded up to a power of two, and the requested time, in bands each four times as long as the
    last.

    >>> geometry(Shape(nodes=5, asked_s=3600)), geometry(Shape(nodes=8, asked_s=901))
    ('8 nodes, 3600 s', '8 nodes, 3600 s')
    """
    nodes = 1 << max(0, shape.nodes - 1).bit_length()
    most_s = _SHORTEST_S
    while most_s < min(shape.asked_s, _LONGEST_S):
        most_s *= 4.0
    return f"{nodes} nodes, {most_s:.0f} s"


def uniform(draw: Draw) -> float:
    """A number from [0, 1) that `draw` determines, so that a resumed run draws the same."""
    digest = hashlib.blake2b(repr(draw).encode(), digest_size=7).digest()
    return int.from_bytes(digest) * 2.0**-56
