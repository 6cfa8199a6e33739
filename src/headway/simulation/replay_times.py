"""Replay of a log's run times: how often predicted quantiles hold, and what requests for time would have cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import NormalDist

from msgspec import Struct

from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask
from headway.sizing.base import Context, Prediction
from headway.sizing.estimators.ladder import Ladder
from headway.sizing.estimators.time_rules import TWO_SIGMA, Lotaru, MeanPlusTwoSigma
from headway.sizing.failure_price import KNOWN, FailurePrice
from headway.sizing.walltime import WAIT_PER_S, WAIT_S, WalltimeFromQuantiles, whole_minutes

LEVELS = (0.5, 0.9, 0.95)
LONGEST_S = 7 * 86_400.0  # what many sites allow; the first task of a category asks for it
_LIMITS = Context(Resources(cores=1, walltime_s=LONGEST_S))
_PROGRESS_EVERY = 256  # tasks


class TimeCost(Struct):
    """What the requests of one rule would have cost, without tasks of which nothing was known."""

    tasks: int = 0
    attempts: int = 0
    timeouts: int = 0
    known_attempts: int = 0  # after the first tasks of each category
    known_timeouts: int = 0
    impossible: int = 0  # tasks that take longer than any request may be
    used_s: float = 0.0
    asked_s: float = 0.0  # by all attempts
    lost_s: float = 0.0  # by attempts that ran out of time
    within: list[int] = []  # tasks that ended within each quantile; empty where none is predicted

    @property
    def delay_s(self) -> float:
        """The delay by long requests and by time-outs: longer waits, lost attempts, and waiting again."""
        return WAIT_PER_S * self.asked_s + self.lost_s + WAIT_S * self.timeouts

    def coverage(self) -> dict[float, float]:
        """The share of tasks that ended within each predicted quantile; empty where none was predicted."""
        return dict(zip(LEVELS, (each / self.tasks for each in self.within), strict=False)) if self.tasks else {}

    def add(self, run_s: float, requests: Sequence[float], *, known: bool) -> None:
        """Add a task with the requests of its attempts, of which only the last can be enough."""
        enough = run_s <= requests[-1]
        timeouts = len(requests) - enough
        self.tasks += 1
        self.attempts += len(requests)
        self.timeouts += timeouts
        self.known_attempts += known * len(requests)
        self.known_timeouts += known * timeouts
        self.impossible += not enough
        self.used_s += run_s
        self.asked_s += sum(requests)
        self.lost_s += sum(requests[:timeouts])


class TimeRule(ABC):
    """A way of asking for time, for the tasks of one category."""

    runs = 0  # successes so far

    @abstractmethod
    def request(self, task: Task, timed_out: Sequence[float]) -> float:
        """Return the seconds to ask for; `timed_out` were too few."""

    @abstractmethod
    def quantile(self, task: Task, q: float) -> float:
        """Return the seconds that a run does not exceed with probability `q`; asked after the first success only."""

    @abstractmethod
    def learn(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Count and learn from an attempt."""
        self.learn(task, outcome)
        self.runs += outcome.ending is Ending.SUCCESS


class FromSizer(TimeRule):
    """What `ladder` asks for in a run."""

    def __init__(self, tolerance: float) -> None:
        self._sizer = WalltimeFromQuantiles(Ladder.name)
        self._sizer.price = FailurePrice(tolerance) if tolerance < 1 else None

    def request(self, task: Task, timed_out: Sequence[float]) -> float:
        answer = self._sizer.predict(task, timed_out, _LIMITS)
        return (isinstance(answer, Prediction) and answer.value) or LONGEST_S

    def quantile(self, task: Task, q: float) -> float:
        return self._sizer.times.quantile(task, q) or 0.0

    def learn(self, task: Task, outcome: Outcome) -> None:
        self._sizer.observe(task, outcome)


class FromNormal(TimeRule):
    """The mean and two standard deviations of a normal distribution, twice that after a time-out."""

    def __init__(self, distribution: Lotaru | MeanPlusTwoSigma) -> None:
        self._distribution = distribution

    def request(self, task: Task, timed_out: Sequence[float]) -> float:
        if timed_out:
            return _doubled(0.0, timed_out)
        if not self.runs:
            return LONGEST_S
        mean, sigma = self._distribution.normal(task.input_bytes)
        return whole_minutes(mean + TWO_SIGMA * sigma)

    def quantile(self, task: Task, q: float) -> float:
        mean, sigma = self._distribution.normal(task.input_bytes)
        return mean + sigma * NormalDist().inv_cdf(q)

    def learn(self, task: Task, outcome: Outcome) -> None:
        if outcome.ending is Ending.SUCCESS:
            self._distribution.add(outcome.ended_at, task.input_bytes)


# By name: makes the rule of one category from the share of attempts that may run out of time.
RULES: dict[str, Callable[[float], TimeRule]] = {
    Ladder.name: FromSizer,
    "lotaru": lambda tolerance: FromNormal(Lotaru()),
    "mean-plus-2-sigma": lambda tolerance: FromNormal(MeanPlusTwoSigma()),
}


class TimeReplay:
    """Goes through logs with one rule, which learns from log to log."""

    def __init__(self, rule: str, tolerance: float = 1.0, lag: int = 0) -> None:
        self._make, self._tolerance, self._lag = RULES[rule], tolerance, lag
        self._rules: dict[str, TimeRule] = {}  # by category
        self._begun: dict[str, int] = {}  # tasks of each category

    def over(self, tasks: Iterable[LoggedTask], progress: Callable[[int], None] | None = None) -> TimeCost:
        """Ask for time for each task, in this order; the rule learns how it ended after `lag` more tasks.

        An attempt that takes longer than what was asked for is lost, and the task asks for more. Tasks without a run
        time are left out.
        """
        cost = TimeCost(within=[0] * len(LEVELS))
        in_flight: deque[tuple[TimeRule, Task, list[Outcome]]] = deque()
        for number, logged in enumerate(tasks):
            if progress and number % _PROGRESS_EVERY == 0:
                progress(number)
            if logged.run_s > 0:
                in_flight.append(self._run(logged, cost))
            if len(in_flight) > self._lag:
                _learn(*in_flight.popleft())
        for ended in in_flight:
            _learn(*ended)
        return cost

    def _run(self, logged: LoggedTask, cost: TimeCost) -> tuple[TimeRule, Task, list[Outcome]]:
        rule = self._rules.get(logged.category)
        if rule is None:
            rule = self._rules[logged.category] = self._make(self._tolerance)
        self._begun[logged.category] = number = self._begun.get(logged.category, 0) + 1
        cores = {"cores": logged.asked["cores"]} if "cores" in logged.asked else {}
        task = Task(logged.id, logged.category, "-", hints=cores, input_bytes=logged.input_bytes)
        requests = list(_requests(logged.run_s, partial(rule.request, task)))
        if rule.runs:  # else it asks for all there is, whatever the rule
            cost.add(logged.run_s, requests, known=number > KNOWN)
            for place, level in enumerate(LEVELS):
                # Quantiles of equal run times are equal but for rounding.
                cost.within[place] += logged.run_s <= rule.quantile(task, level) * (1 + 1e-9)
        endings = [
            Outcome(task.id, attempt, Ending.TIME, 0.0, seconds)
            if logged.run_s > seconds
            else Outcome(task.id, attempt, Ending.SUCCESS, 0.0, logged.run_s)
            for attempt, seconds in enumerate(requests, start=1)
        ]
        return rule, task, endings


def as_asked(tasks: Iterable[LoggedTask]) -> TimeCost | None:
    """What the log's own requests cost, and twice as much after a time-out; None if no task asked for time.

    As in `TimeReplay`, the first task of each category does not count.
    """
    cost, begun = TimeCost(), dict[str, int]()
    for logged in tasks:
        asked_s = logged.asked.get("walltime_s", 0.0)
        if logged.run_s > 0:
            begun[logged.category] = number = begun.get(logged.category, 0) + 1
            if number > 1 and asked_s > 0:
                cost.add(logged.run_s, list(_requests(logged.run_s, partial(_doubled, asked_s))), known=number > KNOWN)
    return cost if cost.tasks else None


def _doubled(asked_s: float, failed: Sequence[float]) -> float:
    return 2 * failed[-1] if failed else asked_s


def _requests(run_s: float, request: Callable[[Sequence[float]], float]) -> Iterator[float]:
    """Yield what the attempts at a task ask for, until one is enough or asks for the most that can be had."""
    failed: list[float] = []
    while True:
        seconds = min(LONGEST_S, request(failed))
        yield seconds
        if run_s <= seconds or seconds >= LONGEST_S:
            return
        failed.append(seconds)


def _learn(rule: TimeRule, task: Task, endings: Sequence[Outcome]) -> None:
    for outcome in endings:
        rule.observe(task, outcome)
