"""The contract of HOW LONG A QUEUE: a job's shape in, its predicted wait out."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from headway.model.records import Figure

Draw = tuple[int, str, str, int]  # seed, policy, job, attempt: determines a random choice


class Shape(Struct, frozen=True):
    """What a job requests. `estimate_s`: its wait by the scheduler's own plan, if that was read."""

    nodes: int
    asked_s: float
    estimate_s: float | None = None


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

    @abstractmethod
    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """The expected wait of such a job if it is submitted now."""

    @abstractmethod
    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """The quantiles of the wait at these shares; they never fall as the share grows."""

    @abstractmethod
    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Learn from the wait of a job."""

    def state(self) -> dict[str, Any]:
        """All that was learned, as JSON with a `version`."""
        return {"version": 1}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""


def uniform(draw: Draw) -> float:
    """A number from [0, 1) that `draw` determines, so that a resumed run draws the same."""
    digest = hashlib.blake2b(repr(draw).encode(), digest_size=7).digest()
    return int.from_bytes(digest) * 2.0**-56
