"""`Speeds`: how long a category's tasks took with each number of cores, and which step to more cores did not pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, floor, log, sqrt
from statistics import fmean
from typing import Any

from msgspec import Struct, field

PAYS = 0.6  # doubling the cores has to make a task 2 ** 0.4 = 1.32 times as fast, or is taken back
STEP = 1.4  # numbers of cores that are closer than this are too much alike to be compared
_TASKS, _NUMBERS = 32, 16  # kept: the latest tasks of the latest numbers of cores
# Standard deviations of logarithms that are assumed before there are figures, and their weight in attempts.
_SAME_TASK, _OTHER_TASK, _WEIGHT = 0.1, 0.5, 2


class Step(Struct, frozen=True):
    """A step from fewer to more cores that did not pay: how many times as fast it made tasks, and had to."""

    fewer: float
    more: float
    gain: float
    at_most: float  # the gain and its standard error
    needed: float


class Speeds(Struct):
    """The latest run times and busy cores of a category's tasks, by cores.

    Run times of the same task with different cores are compared first: it differs little from run to run. Where no task
    ran with both, those of different tasks are compared, which takes more of them.

    >>> speeds = Speeds()
    >>> speeds.add(4.0, "a", 100.0, 4.0)
    >>> speeds.add(8.0, "a", 95.0, 8.0)     # all cores were busy, and it was hardly faster
    >>> speeds.unpaid(lambda cores: cores).fewer
    4.0
    """

    by_cores: dict[float, dict[str, tuple[float, float]]] = field(default_factory=dict)  # logarithms of seconds, busy

    def add(self, cores: float, task: str, seconds: float, busy: float, *, afresh: bool = False) -> None:
        """Add a success. `afresh`: forget what was known of this number of cores."""
        known = {} if afresh else self.by_cores.pop(cores, {})
        self.by_cores.pop(cores, None)
        known.pop(task, None)
        known[task] = (log(max(seconds, 1e-3)), log(max(busy, 1e-3)))
        self.by_cores[cores] = known
        _forget_oldest(known, _TASKS)
        _forget_oldest(self.by_cores, _NUMBERS)

    def below(self, cores: float) -> list[float]:
        """Return the numbers of cores, in rising order, that are well below this one and were measured."""
        return sorted(fewer for fewer in self.by_cores if fewer * STEP <= cores)

    def highest_below(self, cores: float) -> float:
        """Return the highest number of cores below this one that was measured."""
        return max(fewer for fewer in self.by_cores if fewer < cores)

    def to_compare_with(self, cores: float, holds: Callable[[float], float]) -> float | None:
        """Return fewer cores to try, so that this number, which was measured, can be compared; None: it can be."""
        if cores < 2 or cores not in self.by_cores:
            return None
        known, lower = self.by_cores[cores], self.below(cores)
        if not lower:
            busy = floor(exp(fmean(busy for _, busy in known.values())) + 0.5)
            return float(max(1, busy if busy * STEP <= cores else floor(cores / 2)))
        for fewer in reversed(lower):
            faster, margin = self._faster(fewer, cores)
            undecided = faster - margin < self._needed(fewer, cores, holds)
            if undecided and len(self.by_cores[fewer]) < len(known):
                return fewer
        return None

    def unpaid(self, holds: Callable[[float], float]) -> Step | None:
        """Return the lowest step that did not pay; `holds` is what an attempt holds of the machine, by its cores."""
        for more in sorted(self.by_cores):
            for fewer in reversed(self.below(more)):
                needed = self._needed(fewer, more, holds)
                gain, margin = min(self._faster(fewer, more), self._busier(fewer, more), key=sum)
                if gain + margin < needed:
                    return Step(fewer, more, exp(gain), exp(gain + margin), exp(needed))
        return None

    def _needed(self, fewer: float, more: float, holds: Callable[[float], float]) -> float:
        return PAYS * log(holds(more) / holds(fewer))

    def _faster(self, fewer: float, more: float) -> tuple[float, float]:
        """Return the logarithm of the speedup by run times, and its standard error."""
        one, other = self.by_cores[fewer], self.by_cores[more]
        gains = [one[task][0] - other[task][0] for task in one if task in other]
        if gains:
            return fmean(gains), _deviation([gains], _SAME_TASK) / sqrt(len(gains))
        slow, fast = ([seconds for seconds, _ in tasks.values()] for tasks in (one, other))
        error = _deviation([slow, fast], _OTHER_TASK) * sqrt(1 / len(slow) + 1 / len(fast))
        return fmean(slow) - fmean(fast), error

    def _busier(self, fewer: float, more: float) -> tuple[float, float]:
        """Return the logarithm of the ratio of busy cores, and its standard error. It bounds the speedup: idle cores do
        not make a task faster."""
        one, other = ([busy for _, busy in self.by_cores[cores].values()] for cores in (fewer, more))
        return fmean(other) - fmean(one), _SAME_TASK / sqrt(min(len(one), len(other)))


def _deviation(groups: Sequence[Sequence[float]], assumed: float) -> float:
    """Return the standard deviation within groups, beginning with an assumed one."""
    squares, count = _WEIGHT * assumed * assumed, float(_WEIGHT)
    for group in groups:
        mean = fmean(group)
        squares += sum((value - mean) ** 2 for value in group)
        count += len(group) - 1
    return sqrt(squares / count)


def _forget_oldest(known: dict[Any, Any], kept: int) -> None:
    while len(known) > kept:
        del known[next(iter(known))]
