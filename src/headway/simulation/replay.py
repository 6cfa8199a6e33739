"""A log replayed: what would each task have been given, how often would it have failed, what would that have cost?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, field

from headway.model.errors import InputError
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.task_log import LoggedTask, TaskLog
from headway.sizing.base import Allocation, Allocator, CannotFit, Context

# 001 section V-A: what an allocator that knows nothing starts with.
START = {"cores": 1.0, "memory_bytes": 1e9, "disk_bytes": 1e9}
_ENDINGS = {ending.exhausted: ending for ending in Ending if ending.exhausted}

TimeToFailure = Literal["end", "observed"] | float


class Cost(Struct):
    """What a resource cost: amounts times seconds, as 001 section II-C defines them."""

    used: float = 0.0  # by attempts that succeeded, at their peak
    fragmentation: float = 0.0  # given to attempts that succeeded and not used
    failed: float = 0.0  # given to attempts that failed
    failures: int = 0  # attempts that this resource ended

    @property
    def waste(self) -> float:
        """Given and not used, or used in vain."""
        return self.fragmentation + self.failed

    @property
    def awe(self) -> float | None:
        """Absolute Workflow Efficiency (001 section II-C). 004's Memory Allocation Quality is the same quotient."""
        given = self.used + self.waste
        return self.used / given if given else None


class Replay(Struct):
    """What a policy would have cost on a log."""

    costs: dict[str, Cost]
    tasks: int = 0
    attempts: int = 0
    impossible: int = 0  # tasks that no attempt within the limits could have finished

    @classmethod
    def over(cls, resources: Sequence[str]) -> Replay:
        """Nothing so far."""
        return cls({resource: Cost() for resource in resources})


class World(Struct, frozen=True):
    """Where and how a log is replayed."""

    machine: Resources
    lag: int = 0  # tasks in flight before what happened to one becomes known
    ttf: TimeToFailure = "end"  # when an attempt that has too little ends
    seed: int = 0
    start: dict[str, float] = field(default_factory=lambda: dict(START))


def replay(
    log: TaskLog, allocator: Allocator, world: World, progress: Callable[[int], None] = lambda done: None
) -> Replay:
    """Walk forward through the log: each task is sized before anything is known of it.

    All resources are taken together: when one runs out, what was given of all of them is lost. With a lag, the outcomes
    of a task's attempts are told only when that many later tasks have been sized.
    """
    if world.ttf == "observed" and not (log.failed_after_s or any(task.profile for task in log.tasks)):
        raise InputError(
            "this log does not tell when attempts fail", where=log.name, todo="use --ttf end, or a fraction such as 0.5"
        )
    result = Replay.over(log.resources)
    in_flight: deque[tuple[Task, list[Outcome]]] = deque()
    for number, logged in enumerate(log.tasks):
        task = Task(logged.id, logged.category, "-", outputs=("-",), hints=logged.asked, input_bytes=logged.input_bytes)
        outcomes = _run(logged, task, allocator, log, world, result)
        in_flight.append((task, outcomes))
        if len(in_flight) > world.lag:
            learn_from, happened = in_flight.popleft()
            for outcome in happened:
                allocator.observe(learn_from, {}, outcome)
        progress(number + 1)
    return result


def _run(
    logged: LoggedTask, task: Task, allocator: Allocator, log: TaskLog, world: World, result: Replay
) -> list[Outcome]:
    """One task from its first attempt to its last."""
    failures: dict[str, list[float]] = {}
    outcomes: list[Outcome] = []
    kills = frozenset(log.kills)
    result.tasks += 1
    while True:
        attempt = len(outcomes) + 1
        context = Context(world.machine, (world.seed, "", task.id, attempt), world.start, kills)
        answer = allocator.allocate(task, failures, context)
        if isinstance(answer, CannotFit):
            result.impossible += 1
            return outcomes
        result.attempts += 1
        exceeded, lasted_s = _ends(logged, answer, log, world.ttf)
        _book(result, logged, answer, exceeded, lasted_s)
        outcomes.append(_outcome(logged, attempt, exceeded, lasted_s, answer))
        if not exceeded:
            return outcomes
        for resource in exceeded:
            failures.setdefault(resource, []).append(answer.resources[resource] or 0.0)


def _ends(logged: LoggedTask, given: Allocation, log: TaskLog, ttf: TimeToFailure) -> tuple[list[str], float]:
    """The resources that ran out first, and when; none, and its run time, if there was enough of all."""
    ends: dict[str, float] = {}
    for resource in log.kills:
        amount = given.resources[resource]
        if amount is not None and logged.used.get(resource, 0.0) > amount:
            ends[resource] = _fails_after_s(logged, resource, amount, log, ttf)
    if not ends:
        return [], logged.run_s
    first = min(ends.values())
    return [resource for resource, seconds in ends.items() if seconds == first], first


def _fails_after_s(logged: LoggedTask, resource: str, amount: float, log: TaskLog, ttf: TimeToFailure) -> float:
    if ttf == "end":
        return logged.run_s
    if ttf != "observed":
        return logged.run_s * ttf
    if resource == "memory_bytes" and logged.profile:
        part = next((index for index, held in enumerate(logged.profile) if held > amount), len(logged.profile))
        return logged.run_s * part / len(logged.profile)
    return min(logged.run_s, log.failed_after_s.get(resource, logged.run_s))


def _book(result: Replay, logged: LoggedTask, given: Allocation, exceeded: Sequence[str], lasted_s: float) -> None:
    for resource, cost in result.costs.items():
        amount = given.resources[resource] or 0.0
        if exceeded:
            cost.failed += amount * lasted_s
            cost.failures += resource in exceeded
        else:
            used = logged.used.get(resource, 0.0)
            cost.used += used * lasted_s
            cost.fragmentation += max(0.0, amount - used) * lasted_s


def _outcome(logged: LoggedTask, attempt: int, exceeded: Sequence[str], lasted_s: float, given: Allocation) -> Outcome:
    """What would have been measured: peaks of a success; of a failure only that what ran out was not enough."""
    if exceeded:
        ending, quality = _ENDINGS[exceeded[0]], Quality.LOWER_BOUND
        amounts = {name: given.resources[name] or 0.0 for name in exceeded}
    else:
        ending, quality = Ending.SUCCESS, Quality.EXACT
        amounts = logged.used
    measured = {name: Measured(value, quality) for name, value in amounts.items()}
    usage = Usage(
        wall_s=Measured(lasted_s, quality),
        memory_bytes=measured.get("memory_bytes"),
        disk_bytes=measured.get("disk_bytes"),
        cores_peak=measured.get("cores"),
    )
    return Outcome(logged.id, attempt, ending, 0.0, lasted_s, usage)
