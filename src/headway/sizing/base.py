"""The contracts of HOW MUCH: `Sizer` for one resource of one category, `Allocator` for all of a task's resources.

A sizer owns what it learned and nothing else. It is asked before an attempt and told after it; who asks, when, and
what becomes of the answer is the caller's business. Asking changes nothing: the same question in the same state gets
the same answer, also after a crash, because random draws come from a generator that the question itself determines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from headway.model.outcome import Outcome
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task

if TYPE_CHECKING:
    from numpy.random import Generator


# What ends an attempt that uses more of it than it was given. Cores are compressible: too few only slow a task down.
KILLS = frozenset({"memory_bytes", "disk_bytes", "walltime_s"})


class Context(Struct, frozen=True):
    """What the world looks like to the question: the most that can be given, what it costs to give too little, and
    what determines its random draws.

    `start` is what to give of a resource of which nothing is known: by default a share of the machine. `held` is the
    share of a node that the attempt's other resources take: all of it is lost when one runs out. `requeue_s` is how
    long an attempt that has to be repeated waits for its next turn.
    """

    limits: Resources
    draw: tuple[int, str, str, int] = (0, "", "", 0)  # seed, policy, task, attempt
    start: Mapping[str, float] = {}
    kills: frozenset[str] = KILLS
    held: float = 0.0
    requeue_s: float = 0.0

    def generator(self) -> Generator:
        """A random generator of this question's own: asked again, also in a resumed run, it draws the same."""
        import hashlib

        from numpy.random import Generator, Philox

        digest = hashlib.blake2b(repr(self.draw).encode(), digest_size=16).digest()
        return Generator(Philox(key=int.from_bytes(digest)))

    def uniform(self) -> float:
        """One number from [0, 1): the same question draws the same. A generator of numpy's takes ten times as long."""
        import hashlib

        digest = hashlib.blake2b(repr(self.draw).encode(), digest_size=7).digest()
        return int.from_bytes(digest) * 2.0**-56


class Prediction(Struct, frozen=True):
    """How much to give (None: no limit), why, and what further attempts would get, where the sizer knows."""

    value: float | None
    why: Why
    rungs: tuple[float, ...] = ()


class CannotFit(Struct, frozen=True):
    """No amount within the limits would help."""

    resource: str
    needed: float
    available: float
    why: Why
    reason: Literal["exceeds-limit", "too-many-timeouts"] = "exceeds-limit"


class Sizer(ABC):
    """Decides one resource for the tasks of one category.

    `failures` are the amounts of this resource that earlier attempts at the task had and exhausted, oldest first. A
    prediction is never above the limits and never at or below what was just exhausted; where both cannot hold, the
    answer is `CannotFit`.
    """

    name: str  # as users write it
    siblings: Mapping[str, Sizer] = {}  # those of the same resource, by category, for sizers that compare notes

    def __init__(self, resource: str) -> None:
        self.resource = resource

    @abstractmethod
    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        """How much the next attempt at `task` gets."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt. Figures that are not finite and positive, or only bounds from below, teach no peak."""

    def state(self) -> dict[str, Any]:
        """What was learned, as JSON with a `version`."""
        return {"version": 1}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where `state` left off."""


class Allocation(Struct, frozen=True):
    """All that an attempt is given. The ticket comes back with the outcome: it holds what a learner needs of its
    own choice."""

    resources: Resources
    why: dict[str, Why]
    ticket: dict[str, Figure] = field(default_factory=dict)


class Allocator(ABC):
    """Decides all resources of an attempt at once."""

    @abstractmethod
    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        """What the next attempt at `task` gets; `failures` by resource, as for `Sizer.predict`."""

    @abstractmethod
    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        """Learn from an attempt that this allocator sized."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What was learned, as JSON with a `version`."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up where `state` left off."""
