"""The contract of an estimator: numbers in, an amount out.

An estimator learns the peaks of one resource over the tasks of one category and estimates what the next task needs. It
does not know which resource it estimates. `EstimatedSizer` asks it and applies the rules of the resource
(`resource_rules`): user hints, the cold start, rounding, retries and limits.

To add an estimator, write a subclass of `Estimator` and add it to the table in `sizing/__init__.py`.
`headway.testing.EstimatorContract` tests it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

from msgspec import Struct, structs

from headway.model.records import Figure

# An estimator that keeps all records of a category thins them here, to half as many: more would not change its answers
# much, and a service that runs for years must not grow. It is more than any category of the papers' logs has.
MOST_RECORDS = 20_000


class Start(Enum):
    """Amounts that only the resource's rules know."""

    SMALL = "small"  # what a task gets of this resource while nothing is known: 1 core, 1 GB
    WHOLE_MACHINE = "whole-machine"


class Query(Struct, frozen=True, gc=False):
    """What an estimator is asked about: one attempt at one task."""

    failures: Sequence[float] = ()  # amounts that earlier attempts at the task exhausted, oldest first
    input_bytes: int | None = None
    limit: float | None = None  # the most that can be given
    hint: float | None = None  # what the workflow asks for
    held: float = 0.0  # share of a node that the task's other resources take: lost with them if this one runs out
    compressible: bool = False  # too little only slows the task down
    uniform: Callable[[], float] = lambda: 0.0  # draws a number from [0, 1); the same question draws the same
    show: Callable[[float], str] = "{:g}".format  # an amount as people write it: "1.5 GB memory"
    peers: Callable[[], Iterable[Estimator]] = lambda: ()  # the estimators of the same resource for all categories
    fine: float | None = None  # what a failed attempt costs besides what it held
    fine_at_first: float | None = None  # the same for the first task of a category
    tolerated: float = 1.0  # share of attempts that may fail
    others: int = 0  # attempts of the category that have begun and not ended
    coarse: Callable[[float], float] | None = None  # rounds up, where failures have a price

    @property
    def given(self) -> float:
        """The last amount that was not enough; 0 at the first attempt."""
        return self.failures[-1] if self.failures else 0.0


class Attempt(Struct, frozen=True, gc=False):
    """What an estimator learns from: one attempt that ended."""

    peak: float | None = None  # None: the attempt failed, or nothing was measured
    run_s: float = 0.0
    input_bytes: int | None = None
    task: str = ""  # its id
    hint: float | None = None  # what the workflow asked for
    exhausted: float | None = None  # the amount that was not enough, if this resource ran out
    fine: float | None = None  # as in `Query`


class Estimate(Struct, frozen=True, gc=False):
    """An amount, before rounding and limits, and how it was found: `figures` suffice to compute it again."""

    value: float | Start
    rule: str
    figures: dict[str, Figure]
    text: str


class Estimator(ABC):
    """Estimates what the next task of a category needs of one resource.

    The class attributes say how the rules of the resource treat its estimates:

    `climbs`: it answers again after a failure, with more than what ran out. Otherwise a retry gets twice what ran out,
    or the estimate if that is more, and a stated number of cores counts more than the estimate.

    `step`: estimates are rounded up to multiples of this; 0: only to whole bytes, and cores not at all.

    `overrules`: it decides also for tasks that hold no disk, and over a stated number of cores.

    `learned`: the attributes that make up its state. Of `x` the attribute is `_x`: a number, a list or a dictionary of
    numbers, an array or a Struct of numbers. What is computed from these is `_found`, which `restore` clears.
    """

    name: ClassVar[str]  # as users write it
    climbs: bool = False
    overrules: ClassVar[bool] = False
    step: float = 1.0
    learned: ClassVar[Sequence[str]] = ()
    _found: Any = None

    @abstractmethod
    def estimate(self, query: Query) -> Estimate | None:
        """Estimate one task's need; None while too little is known: the resource's rules decide then. Changes nothing
        that `state` shows."""

    def after_failure(self, at_least: float, query: Query) -> Estimate | None:
        """Say what a retry gets, if this estimator does not climb and has a rule of its own; `at_least` is its estimate
        (0: none)."""
        return None

    def learn(self, attempt: Attempt) -> None:
        """Learn from a success whose peak is known."""

    def learn_without_peak(self, attempt: Attempt) -> None:
        """Learn from any other attempt; `attempt.exhausted` is a lower bound of its peak, where there is one."""

    def state(self) -> dict[str, Any]:
        """Return what was learned, as JSON with a `version`."""
        return {"version": 1} | {name: _as_json(getattr(self, f"_{name}")) for name in self.learned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned."""
        self._found = None
        for name in self.learned:
            setattr(self, f"_{name}", _from_json(state[name], getattr(self, f"_{name}")))


def _as_json(value: Any) -> Any:
    """Return a part of a state; NaN in an array becomes None."""
    if isinstance(value, array):
        return [None if math.isnan(number) else number for number in value]
    return structs.asdict(value) if isinstance(value, Struct) else value


def _from_json(value: Any, before: Any) -> Any:
    """Return a part of a state as the type that it had before."""
    if isinstance(before, array):
        return array(before.typecode, (math.nan if number is None else number for number in value))
    if isinstance(before, Struct):
        return type(before)(**value)
    return value.copy() if isinstance(value, list | dict) else value


def thinned(numbers: array[Any]) -> array[Any]:
    """Return every second number, and the last one in any case: of sorted numbers that is the greatest.

    >>> thinned(array("d", [1, 2, 3, 4, 5, 6])).tolist()
    [2.0, 4.0, 6.0]
    """
    return numbers[1 - len(numbers) % 2 :: 2]


def earlier(records: int) -> str:
    """Name the records that an estimate comes from."""
    return f"{records} earlier ones" if records > 1 else "the one before"
