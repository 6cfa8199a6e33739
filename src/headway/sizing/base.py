"""The contracts of HOW MUCH: `Sizer` decides one resource for one category, `Allocator` all resources of a task.

A policy here owns what it has learned and nothing else. The caller asks before an attempt and reports the outcome after
it. Asking changes nothing: the same question in the same state gets the same answer, also after a crash, because the
question itself seeds the random draws.

Most ways of sizing implement neither class: they are an `Estimator` (`estimators/base.py`), which sees numbers only.
`EstimatedSizer` joins it with the rules of a resource.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from headway.model.outcome import Outcome
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.failure_price import FailurePrice

# Resources that end an attempt which uses more than it was given. Cores are compressible: too few only slow it down.
KILLS = frozenset({"memory_bytes", "disk_bytes", "walltime_s"})


class Context(Struct, frozen=True):
    """The surroundings of a question: the limits, the price of giving too little, and the seed of random draws.

    `start` is what to give of a resource while nothing is known (by default a share of the machine). `held` is the
    share of a node that the attempt's other resources take: all of it is lost when one resource runs out. `others` are
    the attempts that have begun and will teach what the task needs: those of its category, and if nothing is known of
    that, those of all such categories.
    """

    limits: Resources
    draw: tuple[int, str, str, int] = (0, "", "", 0)  # seed, policy, task, attempt
    start: Mapping[str, float] = {}
    kills: frozenset[str] = KILLS
    held: float = 0.0
    others: int = 0

    def uniform(self) -> float:
        """Draw one number from [0, 1): the same question always draws the same.

        >>> context = Context(Resources(cores=1), draw=(7, "greedy-bucketing/memory_bytes", "align", 1))
        >>> context.uniform() == context.uniform()
        True
        """
        import hashlib

        digest = hashlib.blake2b(repr(self.draw).encode(), digest_size=7).digest()
        return int.from_bytes(digest) * 2.0**-56


class Prediction(Struct, frozen=True):
    """The amount to give (None: no limit), and why."""

    value: float | None
    why: Why


class CannotFit(Struct, frozen=True):
    """No amount within the limits would be enough."""

    resource: str
    needed: float
    available: float
    why: Why
    reason: Literal["exceeds-limit", "own-limit", "hint"] = "exceeds-limit"


class Sizer(ABC):
    """Decides one resource for the tasks of one category.

    `failures` are the amounts of this resource that earlier attempts at the task were given and exhausted, oldest
    first. A prediction is never above the limits and always above the last failure; where both cannot hold, the answer
    is `CannotFit`.
    """

    name: str  # as users write it
    price: FailurePrice | None = None  # of failures by this resource; set by the allocator; None: any number may fail

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.siblings: dict[str, Sizer] = {}  # the sizers of the same resource, by category; set by the allocator

    @abstractmethod
    def predict(self, task: Task, failures: Sequence[float], context: Context) -> Prediction | CannotFit:
        """Say how much the next attempt at `task` gets."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt. Ignore peaks that are lower bounds, not finite or not positive."""

    def gives_more_now(self, task: Task, exhausted: float) -> bool:
        """Whether a first attempt would now get more than what ran out: then that failure is old news."""
        return False

    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON with a `version`."""
        return {"version": 1}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""


class Allocation(Struct, frozen=True):
    """Everything an attempt is given. The ticket, which comes back with the outcome, is what a learner must know of its
    own choice."""

    resources: Resources
    why: dict[str, Why]
    ticket: dict[str, Figure] = field(default_factory=dict)


class Allocator(ABC):
    """Decides all resources of an attempt at once."""

    def tolerate(self, failures: float) -> None:
        """Let at most this share of attempts fail once a category is known; 1: any share. Called before all else."""

    @abstractmethod
    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        """Say what the next attempt at `task` gets; `failures` by resource, as for `Sizer.predict`."""

    @abstractmethod
    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        """Learn from an attempt; `ticket` is the one of its allocation."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON with a `version`."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
