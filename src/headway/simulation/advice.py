"""What to ask for the tasks of each category, learned from a log, and tried on the same log walk-forward.

The advice is configuration for workflow tools: a few amounts per category that hold until somebody changes them. Input
sizes are not used, since such a configuration does not know them. Memory is what `ladder` answers at the tolerated
share of failures, time is a high quantile of the runtime model with a margin, and cores are those that were busy.

What it would have done is found as in a replay: tasks come in the order in which they started, and each gets what the
advice from the tasks before it says. The first tasks of a category keep what they had asked for.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import numpy as np
from msgspec import Struct

from headway.kernels.ladder import MOST_RUNGS, rungs_of
from headway.model.advice import QUANTILES, Advice, CategoryAdvice, LeftAlone, Trial
from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.sizing.estimators.ladder import SHORTEST_S, SPREAD
from headway.sizing.failure_price import KNOWN, FailurePrice
from headway.sizing.runtime_model import RuntimeModel
from headway.sizing.walltime import MORE_S

MEMORY, TIME, CORES = "memory_bytes", "walltime_s", "cores"
_GB_H = 3600e9
_BUSY_FOR = 0.9  # of the run time: what the cores must be enough for
_NOISE = 0.1  # of a core: 2.1 busy cores are two and a noisy clock
_MEASURED_S = 0.5  # a shorter run does not tell how many cores were busy
_REFIT = 1.02  # advice is found anew when there are this many times as many records
_KEPT, _KEPT_CORES = 10_000, 1000  # records of a category, the newest
_SHOWN = 2**16  # figures of a category from which quantiles are found; of more, every second one counts
# A configuration holds for long and for other machines, and a time-out also loses the memory that was held: so the time
# to ask for is higher than in a run, which goes on learning.
_QUANTILE, _FACTOR = 0.99, 1.1
_STEPS_MB = {
    megabyte: (100, 200, 500, *(gigabyte * step * 10**power for power in range(6) for step in (1, 2, 5)))
    for megabyte, gigabyte in ((1e6, 1000), (2.0**20, 1024))
}
_TIME_STEPS_S = (300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400)
_PROGRESS_EVERY = 256  # tasks


class Terms(Struct, frozen=True):
    """What advice is asked for. `megabyte` is what the tool that gets the advice calls a MB: 1e6 or 2**20 bytes."""

    failures: float = 0.03  # share of attempts that may fail once a category is known; 1: any
    attempts: int = 3
    fewest: int = KNOWN  # records of a category
    megabyte: float = 1e6
    time_kills: bool = True  # whether the tool ends a task that takes longer than the time it asked for


def advice_from(log: TaskLog, terms: Terms, progress: Callable[[int], None] | None = None) -> Advice:
    """Return the advice for all categories of a log; `progress` is called with the number of tasks done."""
    learners: dict[str, _Learner] = {}
    for number, logged in enumerate(log.tasks):
        if progress and number % _PROGRESS_EVERY == 0:
            progress(number)
        learner = learners.get(logged.category)
        if learner is None:
            learner = learners[logged.category] = _Learner(log, terms)
        if learner.records >= terms.fewest:
            learner.try_out(logged)
        learner.learn(logged)
    known = [each.advice(name) for name, each in learners.items() if each.records >= terms.fewest]
    few = [LeftAlone(name, each.records) for name, each in learners.items() if each.records < terms.fewest]
    known.sort(key=lambda each: (-(each.trial.saved_gb_h or 0.0), -each.records, each.category))
    few.sort(key=lambda each: (-each.records, each.category))
    return Advice(known, few, terms.failures, terms.fewest, terms.attempts, terms.megabyte)


class _Figures:
    """Figures of all tasks of a category; of very many, evenly spread ones are kept, and the least and the most."""

    def __init__(self) -> None:
        self.count = 0
        self.least, self.most = math.inf, 0.0
        self._kept = array("d")
        self._every = 1

    def add(self, figure: float) -> None:
        self.least, self.most = min(self.least, figure), max(self.most, figure)
        if self.count % self._every == 0:
            self._kept.append(figure)
            if len(self._kept) > _SHOWN:
                del self._kept[1::2]
                self._every *= 2
        self.count += 1

    def at(self, quantiles: Sequence[float]) -> tuple[float, ...]:
        ordered = sorted(self._kept)
        ordered[0], ordered[-1] = self.least, self.most
        return tuple(ordered[round(quantile * (len(ordered) - 1))] for quantile in quantiles)

    def median(self) -> float | None:
        return sorted(self._kept)[len(self._kept) // 2] if self._kept else None


class _Learner:
    """Learns what the tasks of one category need, and counts what its advice would have done."""

    def __init__(self, log: TaskLog, terms: Terms) -> None:
        self._terms = terms
        # A price of its own for each category, unlike in a run: people look at the failures of each line.
        self._price = FailurePrice(terms.failures) if terms.failures < 1 else None
        self._most_memory = float(log.machine.memory_bytes or math.inf)
        self._cores_kill = CORES in log.kills
        self._log_peaks, self._seconds = array("d"), array("d")
        self._times = RuntimeModel()
        self._rungs: Sequence[float] = ()
        self._climbed = 0  # records when `_rungs` were found
        self._used = {MEMORY: _Figures(), TIME: _Figures(), CORES: _Figures()}
        self._busy: deque[tuple[float, float]] = deque(maxlen=_KEPT_CORES)  # cores, and for how many seconds
        self._asked: dict[str, tuple[float, float]] = {}  # by resource: the least and the most
        self._time: tuple[float, ...] = ()
        self._fitted = 0  # records when `_time` was found
        self._trial, self._untaken = Trial(), Trial()
        self._dearer = 0.0  # GB·h that the advice has cost beyond what was asked, failures charged

    @property
    def records(self) -> int:
        return self._used[MEMORY].count

    # --- what would have happened ---

    def try_out(self, logged: LoggedTask) -> None:
        """Count how a task would have fared with the advice from the tasks before it.

        Where the request should stay, what the advice would have done is counted apart: it may become cheaper.
        """
        asked, keep = logged.asked.get(MEMORY) or 0.0, self._keep
        advised = self._untaken if keep else self._trial
        held_before, failed_before = advised.held_gb_h, advised.out_of_memory
        self._attempt(logged, self._memory_to_ask(), advised)
        failed = advised.out_of_memory - failed_before
        if asked:
            dearer = advised.held_gb_h - held_before - asked * logged.run_s / _GB_H
            self._dearer += dearer + (failed * self._price.fine / _GB_H if self._price else 0.0)
        if keep:
            self._attempt(logged, iter((max(asked, logged.used[MEMORY]),)), self._trial)
        elif self._price:
            for _ in range(failed):
                self._price.failed()

    def _attempt(self, logged: LoggedTask, amounts: Iterator[float], trial: Trial) -> None:
        """Count what happens to a task with these amounts of memory, attempt by attempt."""
        peak, run_s, times = logged.used[MEMORY], logged.run_s, self._times_to_ask() if self._terms.time_kills else ()
        asked, amount, held = logged.asked.get(MEMORY), 0.0, 0.0
        trial.tasks += 1
        for attempt in range(self._terms.attempts):
            amount = next(amounts, amount)
            limit_s = times[min(attempt, len(times) - 1)] if times else math.inf
            trial.attempts += 1
            held += amount * min(run_s, limit_s)
            if run_s > limit_s:
                trial.out_of_time += 1
            elif peak > amount:
                trial.out_of_memory += 1
            else:
                break
        else:
            trial.unfinished += 1
        if asked:
            trial.held_gb_h += held / _GB_H
            trial.asked_gb_h += asked * run_s / _GB_H
            trial.used_gb_h += peak * run_s / _GB_H

    def learn(self, logged: LoggedTask) -> None:
        """Learn from a task."""
        peak, run_s, cores = logged.used[MEMORY], logged.run_s, logged.used.get(CORES)
        self._log_peaks.append(math.log(max(1.0, peak)))
        self._seconds.append(max(SHORTEST_S, run_s))
        if len(self._seconds) > 2 * _KEPT:
            del self._log_peaks[:-_KEPT], self._seconds[:-_KEPT]
        if peak > self._used[MEMORY].most:
            self._climbed = 0  # find the amounts anew
        self._times.observe(Task("", "", ""), Outcome("", 1, Ending.SUCCESS, 0.0, run_s))
        if self._price:
            self._price.succeeded(peak, run_s)
        self._used[MEMORY].add(peak)
        self._used[TIME].add(run_s)
        if cores is not None and run_s >= _MEASURED_S:
            self._used[CORES].add(cores)
            self._busy.append((cores, run_s))
        for resource, amount in logged.asked.items():
            if amount > 0:
                least, most = self._asked.get(resource, (amount, amount))
                self._asked[resource] = min(least, amount), max(most, amount)

    # --- what to ask ---

    def advice(self, category: str) -> CategoryAdvice:
        """Return the advice from everything learned."""
        self._fitted = self._climbed = 0
        asked = {resource: most for resource, (_, most) in self._asked.items()}
        return CategoryAdvice(
            category,
            self.records,
            self._trial,
            () if self._keep else tuple(self._memory_to_ask()),
            self._times_to_ask(),
            self._cpus(),
            asked.get(MEMORY),
            asked.get(TIME),
            asked.get(CORES),
            self._used[MEMORY].at(QUANTILES),
            self._used[TIME].at(QUANTILES),
            self._used[CORES].median(),
        )

    @property
    def _keep(self) -> bool:
        """Whether the request should stay: it was always enough, and has been cheaper than the advice so far."""
        return self._dearer > 0 and self._asked_was_enough(MEMORY)

    def _asked_was_enough(self, resource: str) -> bool:
        return resource in self._asked and self._asked[resource][0] >= self._used[resource].most

    def _memory_to_ask(self) -> Iterator[float]:
        """Yield the amount of each attempt.

        The first attempt gets no more than what was asked, if that was always enough. No retry leaps over what was
        asked, and the last one gets it: nothing that ran with the old request fails for good.
        """
        rungs, given = self._ladder(), 0.0
        least, most = self._asked.get(MEMORY, (math.inf, 0.0))
        for attempt in range(1, self._terms.attempts + 1):
            last = attempt == self._terms.attempts
            twice = round_memory(2 * given, self._terms.megabyte) if given else 0.0
            amount = twice if last and given else next((rung for rung in rungs if rung > given), twice)
            if attempt > 1:
                amount = _not_past(amount, most, given, last)
            elif self._asked_was_enough(MEMORY):
                amount = min(amount, least)
            amount = min(amount, self._most_memory)
            if amount <= given:
                return
            given = amount
            yield amount

    def _ladder(self) -> Sequence[float]:
        """Return the cheapest amounts to try one after the other, failures charged; all records count the same."""
        if self.records >= self._climbed * _REFIT:
            self._climbed = self.records
            fine, rungs = self._price.fine if self._price else 0.0, np.zeros(MOST_RUNGS)
            peaks, seconds = np.frombuffer(self._log_peaks[-_KEPT:]), np.frombuffer(self._seconds[-_KEPT:])
            no_inputs = np.full(len(peaks), math.nan)
            count = rungs_of(peaks, seconds, no_inputs, 0.0, math.nan, 0.0, 1.0, 0.0, SPREAD, fine, rungs)
            self._rungs = [round_memory(rung, self._terms.megabyte) for rung in rungs[:count].tolist()]
        return self._rungs

    def _times_to_ask(self) -> tuple[float, ...]:
        """Return the time of each attempt: a high quantile and a margin, then twice that; none where nothing ran."""
        if self.records < self._fitted * _REFIT:
            return self._time
        self._fitted = self.records
        quantile_s = self._times.quantile(Task("", "", ""), _QUANTILE)
        self._time = ()
        if quantile_s is not None:
            least, most = self._asked.get(TIME, (math.inf, 0.0))
            slower = self._slower()
            first = round_time((_FACTOR * quantile_s + MORE_S) * slower)
            first = min(first, least) if self._used[TIME].most * slower <= least else first
            times = [first]
            while len(times) < self._terms.attempts:
                last = len(times) == self._terms.attempts - 1
                times.append(_not_past(2 * times[-1], most, times[-1], last))
            self._time = tuple(times)
        return self._time

    def _cpus(self) -> int | None:
        """Return how many cores were enough for most of the run time; None if that was not measured.

        None also if the log does not say how many were asked for: nobody knows how much slower fewer would be.
        """
        used = self._used[CORES]
        if used.count < self._terms.fewest:
            return None
        if self._cores_kill:
            return max(1, math.ceil(used.most))
        if CORES not in self._asked:
            return None
        by_use = sorted(self._busy)
        passed = list(accumulate(seconds for _, seconds in by_use))
        enough, _ = by_use[bisect_left(passed, _BUSY_FOR * passed[-1])]
        return max(1, math.ceil(enough - _NOISE))

    def _slower(self) -> float:
        """Return how much longer a task takes with the advised cores, if it used all its cores at once and then one."""
        cpus, asked = self._cpus(), self._asked.get(CORES, (0.0, 0.0))[1]
        if cpus is None or not 1 <= cpus < asked:
            return 1.0
        at_once = min(1.0, max(0.0, (min(cpus, self._used[CORES].most) - 1) / (asked - 1)))  # share of the run time
        return at_once * asked / cpus + 1 - at_once


def _not_past(amount: float, asked: float, given: float, last: bool) -> float:
    """Return the amount of a retry, or what was asked if the retry would leap over it, or is the last one."""
    return asked if given < asked and (last or amount > asked) else amount


def round_memory(amount: float, megabyte: float = 1e6) -> float:
    """Round up to what people write: whole hundreds of MB, and for large amounts steps of a tenth at most.

    >>> [round_memory(amount) / 1e9 for amount in (3e6, 1.23e9, 5.1e9, 23.4e9)]
    [0.1, 1.3, 5.5, 24.0]
    """
    return _up(amount / megabyte, _STEPS_MB[megabyte]) * megabyte


def round_time(seconds: float) -> float:
    """Round up to what people write: whole five minutes, and for long times steps of a tenth at most."""
    return _up(seconds, _TIME_STEPS_S)


def _up(amount: float, steps: Sequence[float]) -> float:
    step = steps[max(0, bisect_right(steps, amount / 10) - 1)]
    return step * max(1, math.ceil(amount / step - 1e-9))
