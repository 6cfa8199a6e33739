"""`Censored`: an estimator that also learns from attempts that ran out, before their tasks have succeeded."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from msgspec import convert, structs, to_builtins

from headway.sizing.estimators.base import Attempt, Estimate, Estimator, Query

BEYOND = 1.5  # times what ran out: taken for the peak of a task until that is known
MOST_RECORDS = 256  # with more, a few failures change an estimate too little to be worth the time
MOST_FAILED = 32  # tasks; those that failed longest ago have probably been given up


class Censored(Estimator):
    """Counts a task that ran out as one that needed half as much again, until it succeeds and its peak is known.

    A failed attempt is a censored record: the peak is at least what ran out. Other tasks begin while it is tried again,
    and by then the failure is known. Witt et al. 2019 leave this open (section VII); the factor is Headway's own. What
    estimators gain is told by `python -m benchmarks.failed_attempts`; `quantized-bucketing` and `ponder` gain nothing.

    >>> from headway.sizing.estimators.maximum import PerProcessMax
    >>> estimator = Censored(PerProcessMax())
    >>> estimator.learn(Attempt(100.0, task="a"))
    >>> estimator.learn_without_peak(Attempt(task="b", exhausted=100.0))
    >>> estimator.estimate(Query()).value
    150.0
    >>> estimator.learn(Attempt(120.0, task="b"))
    >>> estimator.estimate(Query()).value
    120.0
    """

    name = "censored"
    _found: Estimator | None  # a copy that has learned from failures, too

    def __init__(self, known: Estimator) -> None:
        self.known = known  # without failures
        self.climbs = known.climbs
        self.step = known.step
        self._records = 0
        self._failed: dict[str, Attempt] = {}  # by task: the last attempt that ran out

    def estimate(self, query: Query) -> Estimate | None:
        return self._all().estimate(query)

    def after_failure(self, at_least: float, query: Query) -> Estimate | None:
        return self._all().after_failure(at_least, query)

    def learn(self, attempt: Attempt) -> None:
        self._records += 1
        self._failed.pop(attempt.task, None)
        self._found = None
        self.known.learn(attempt)

    def learn_without_peak(self, attempt: Attempt) -> None:
        self.known.learn_without_peak(attempt)
        if attempt.exhausted is not None:
            self._failed.pop(attempt.task, None)
            self._failed[attempt.task] = attempt
            self._found = None
            if len(self._failed) > MOST_FAILED:
                del self._failed[next(iter(self._failed))]

    def _all(self) -> Estimator:
        """Return the estimator with what failed attempts teach."""
        if not self._failed or not 0 < self._records <= MOST_RECORDS:
            return self.known
        if self._found is None:
            self._found = deepcopy(self.known)
            for attempt in self._failed.values():
                ran_out = attempt.exhausted or 0.0
                if not self._gives_more(attempt, ran_out):
                    self._found.learn(structs.replace(attempt, peak=BEYOND * ran_out, exhausted=None))
        return self._found

    def _gives_more(self, attempt: Attempt, ran_out: float) -> bool:
        """Whether what was learned since gives such a task more than ran out: then the failure is old news."""
        found = self.known.estimate(Query(input_bytes=attempt.input_bytes))
        return found is not None and isinstance(found.value, float | int) and found.value > ran_out

    def state(self) -> dict[str, Any]:
        return self.known.state() | {"successes": self._records, "failed": to_builtins(self._failed)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._found = None
        self.known.restore(state)
        self._records = int(state.get("successes", 0))
        self._failed = convert(state.get("failed", {}), dict[str, Attempt])
