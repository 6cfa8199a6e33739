"""The contract of HOW LONG A QUEUE: what a job asks for, and how long it will wait for that."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from headway.model.records import Figure

Draw = tuple[int, str, str, int]  # seed, policy, job, attempt: what a random choice is drawn from


class Shape(Struct, frozen=True):
    """What a job asks for, and when the scheduler's own plan would start it, if it could be asked."""

    nodes: int
    asked_s: float
    estimate_s: float | None = None


class Wait(Struct, frozen=True):
    """How long to reckon with, and what the model needs to learn from how long it really was."""

    wait_s: float
    ticket: dict[str, Figure] = field(default_factory=dict)


class WaitModel(ABC):
    """Predicts how long jobs wait, and learns from how long they did.

    `predict` gives the one figure that a plan is made with; a model that explores may draw it at random, always the
    same for the same `draw`. `quantiles` tells the whole distribution. `observe` is told how long a job that was
    predicted has waited, or (`censored`) how long it had waited when it was withdrawn.

    Asking changes nothing: the same question in the same state gets the same answer. What a model knows is what it was
    told by `observe`, so whoever tells it only of jobs that have started gets predictions that could have been made.
    """

    name: str
    learns = True  # whether waits that it is told of change its answers

    @abstractmethod
    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        """How long such a job, submitted now, should be expected to wait."""

    @abstractmethod
    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        """The waits that these shares of such jobs would not exceed; never falling."""

    @abstractmethod
    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Learn from a job's wait."""

    def state(self) -> dict[str, Any]:
        """All that was learned, as JSON."""
        return {"version": 1}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""


def uniform(draw: Draw) -> float:
    """One number from [0, 1): the same question draws the same, also in a resumed run."""
    digest = hashlib.blake2b(repr(draw).encode(), digest_size=7).digest()
    return int.from_bytes(digest) * 2.0**-56
