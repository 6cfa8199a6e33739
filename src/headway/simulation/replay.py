"""Replay of a task log under an allocator: what each task would have been given, its failures, and their cost."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.sizing.base import Allocator, CannotFit, Context

# The first allocation of a sizer that knows nothing (Phung and Thain 2024, section V-A).
START = {"cores": 1.0, "memory_bytes": 1e9, "disk_bytes": 1e9}
_ENDINGS = {ending.exhausted: ending for ending in Ending if ending.exhausted}
_PEAKS = {"memory_bytes": "memory_bytes", "disk_bytes": "disk_bytes", "cores": "cores_peak"}  # the field of `Usage`
_PROGRESS_EVERY = 256  # tasks

TimeToFailure = Literal["end", "observed"] | float


class Cost(Struct):
    """The cost of a resource, in amount times seconds (Phung and Thain 2024, section II-C).

    `used`, `fragmentation` and `failed` sum up to everything that was allocated.
    """

    used: float = 0.0  # by successful attempts: their peak, at most their allocation
    fragmentation: float = 0.0  # allocated to successful attempts and not used
    failed: float = 0.0  # allocated to failed attempts
    failures: int = 0  # attempts that ran out of this resource

    @property
    def waste(self) -> float:
        """Everything allocated but the used part of successes."""
        return self.fragmentation + self.failed

    @property
    def awe(self) -> float | None:
        """Absolute Workflow Efficiency (Phung and Thain 2024); Witt et al. (2019) call it Memory Allocation Quality."""
        given = self.used + self.waste
        return self.used / given if given else None

    def succeeded(self, used: float, given: float, run_s: float) -> None:
        """Add a success. Its peak may exceed the allocation only for cores: it then used cores of other tasks."""
        used = min(used, given)
        self.used += used * run_s
        self.fragmentation += (given - used) * run_s


class Replay(Struct):
    """The cost of an allocator on a log."""

    costs: dict[str, Cost]
    tasks: int = 0
    attempts: int = 0
    impossible: int = 0  # tasks that need more than the machine has

    @classmethod
    def over(cls, resources: Sequence[str]) -> Replay:
        """Empty costs of these resources."""
        return cls({resource: Cost() for resource in resources})


class World(Struct, frozen=True):
    """The machine and the rules of a replay."""

    machine: Resources
    lag: int = 0  # tasks that are sized before the outcome of one becomes known
    ttf: TimeToFailure = "end"  # when an attempt with too little fails; a number is a fraction of its run time
    seed: int = 0
    start: dict[str, float] = field(default_factory=lambda: dict(START))
    failures: float = 1.0  # share of attempts that may fail once a category is known; 1: any


def replay(log: TaskLog, allocator: Allocator, world: World, progress: Callable[[int], None] | None = None) -> Replay:
    """Size the tasks of a log in their order; the allocator learns the outcome of a task after sizing it.

    When an attempt runs out of one resource, its allocation of all resources is wasted. With a lag, the allocator
    learns the outcomes of a task only when `lag` later tasks have been sized, or the log has ended. `progress` is
    called with the number of tasks done.
    """
    if world.ttf == "observed" and not (log.failed_after_s or any(task.profile for task in log.tasks)):
        raise InputError(
            "this log does not say when attempts fail", where=log.name, todo="use --ttf end, or a fraction such as 0.5"
        )
    result = Replay.over(log.resources)
    replayed = frozenset(log.resources)
    in_flight: deque[tuple[Task, list[Outcome]]] = deque()
    others: Counter[str] = Counter()  # tasks in flight, by category
    seen: set[str] = set()  # categories of which a task has ended
    for number, logged in enumerate(log.tasks):
        if progress and number % _PROGRESS_EVERY == 0:
            progress(number)
        hints = logged.asked
        if not hints.keys() <= replayed:  # the log tells more, such as times
            hints = {name: hints[name] for name in log.resources if name in hints}
        task = Task(logged.id, logged.category, "-", outputs=("-",), hints=hints, input_bytes=logged.input_bytes)
        new = [] if task.category in seen else [category for category in others if category not in seen]
        beside = sum(others[category] for category in {task.category, *new})
        in_flight.append((task, _run(logged, task, log, allocator, world, result, beside)))
        others[task.category] += 1
        if len(in_flight) > world.lag:
            ended, happened = in_flight.popleft()
            others[ended.category] -= 1
            seen.add(ended.category)
            _learn(allocator, ended, happened)
    for learn_from, happened in in_flight:  # for the next run, if there is one
        _learn(allocator, learn_from, happened)
    result.tasks = len(log.tasks)
    return result


def _learn(allocator: Allocator, task: Task, happened: Sequence[Outcome]) -> None:
    for outcome in happened:
        allocator.observe(task, {}, outcome)


def as_asked(log: TaskLog) -> Replay | None:
    """The cost of the log's own requests, without failures; None if the log has no requests.

    A task without a request for a resource costs nothing there; `tasks` counts the tasks that requested all resources.
    """
    result = Replay.over(log.resources)
    tasks: Counter[frozenset[str]] = Counter()  # by the resources that they asked for
    for logged in log.tasks:
        asked = logged.asked.keys() & result.costs.keys()
        tasks[frozenset(asked)] += 1
        for resource in asked:
            result.costs[resource].succeeded(logged.used.get(resource, 0.0), logged.asked[resource], logged.run_s)
    every = frozenset().union(*tasks)
    result.costs = {resource: cost for resource, cost in result.costs.items() if resource in every}
    result.tasks = result.attempts = tasks[every]
    return result if every else None


def _run(
    logged: LoggedTask, task: Task, log: TaskLog, allocator: Allocator, world: World, result: Replay, others: int
) -> list[Outcome]:
    """Run a task from its first attempt to its last and add its costs; return the outcomes.

    `others` tasks are in flight that will teach what it needs.
    """
    kills = frozenset(log.kills)
    failures: dict[str, list[float]] = {}
    outcomes: list[Outcome] = []
    while True:
        attempt = len(outcomes) + 1
        context = Context(world.machine, (world.seed, "", task.id, attempt), world.start, kills, others=others)
        answer = allocator.allocate(task, failures, context)
        if isinstance(answer, CannotFit):
            result.impossible += 1
            return outcomes
        result.attempts += 1
        given = {name: answer.resources[name] or 0.0 for name in {*log.resources, *log.kills}}
        exceeded = [name for name in log.kills if logged.used.get(name, 0.0) > given[name]]
        if not exceeded:
            for resource, cost in result.costs.items():
                cost.succeeded(logged.used.get(resource, 0.0), given[resource], logged.run_s)
            used = {name: logged.used[name] for name in log.resources if name in logged.used}
            outcomes.append(_outcome(logged, attempt, Ending.SUCCESS, Quality.EXACT, logged.run_s, used))
            return outcomes
        first, lasted_s = _first_to_run_out(logged, exceeded, given, log, world.ttf)
        for resource, cost in result.costs.items():
            cost.failed += given[resource] * lasted_s
            cost.failures += resource in first
        for resource in first:
            earlier = failures.setdefault(resource, [])
            if earlier and given[resource] <= earlier[-1]:  # such a sizer would never end
                raise RuntimeError(f"{task.id} was given no more {resource} than what had just run out")
            earlier.append(given[resource])
        spent = {name: given[name] for name in first}  # what ran out: a lower bound is all that is known of it
        outcomes.append(_outcome(logged, attempt, _ENDINGS[first[0]], Quality.LOWER_BOUND, lasted_s, spent))


def _first_to_run_out(
    logged: LoggedTask, exceeded: Sequence[str], given: Mapping[str, float], log: TaskLog, ttf: TimeToFailure
) -> tuple[Sequence[str], float]:
    """The resources that ran out first, and after how many seconds."""
    if ttf == "end":
        return exceeded, logged.run_s
    if ttf != "observed":
        return exceeded, logged.run_s * ttf
    ends = {name: _fails_after_s(logged, name, given[name], log) for name in exceeded}
    first = min(ends.values())
    return [name for name, seconds in ends.items() if seconds == first], first


def _fails_after_s(logged: LoggedTask, resource: str, amount: float, log: TaskLog) -> float:
    """When a resource ran out: in the first interval of the memory profile above the allocation, or after the log's
    usual time."""
    if resource == "memory_bytes" and logged.profile:
        parts = len(logged.profile)
        part = next((index for index, held in enumerate(logged.profile) if held > amount), parts - 1)
        return logged.run_s * (part + 0.5) / parts
    return min(logged.run_s, log.failed_after_s.get(resource, logged.run_s))


def _outcome(
    logged: LoggedTask, attempt: int, ending: Ending, quality: Quality, lasted_s: float, amounts: Mapping[str, float]
) -> Outcome:
    peaks: dict[str, Any] = {_PEAKS[name]: Measured(amounts[name], quality) for name in amounts if name in _PEAKS}
    usage = Usage(wall_s=Measured(lasted_s, quality), **peaks)
    return Outcome(logged.id, attempt, ending, 0.0, lasted_s, usage)
