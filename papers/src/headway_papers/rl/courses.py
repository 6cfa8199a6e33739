"""`course`: an approach's runs of one world, one after the other, by the engine and policies of real runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from headway.model import records
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.agents.feedback_loop import FeedbackLoop
from headway.sizing.agents.gradient_bandit import GradientBandit, GradientBanditPrinted
from headway.sizing.agents.ladder_malleable import Ladders
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.agents.q_learning import QLearning, QLearningHarmonic, QLearningPrinted
from headway.sizing.agents.q_learning_separate import QLearningSeparate
from headway.sizing.base import Allocator
from headway.sizing.estimators.baselines import User
from headway.sizing.ladder_sizer import ladder_sizer
from headway.sizing.per_resource import PerResource
from headway.sizing.ways import MakeSizer, sizers_of
from headway_papers.fixed_pool.runs import SIZED, run_in_pool
from headway_papers.malleable_work import malleable_outcome
from headway_papers.rl.worlds import MACHINE, World

COUNTED = 10  # section 5.1: the last runs of each approach count
_GB_HOURS = 3600.0 * 1e9


class Approach(Struct, frozen=True):
    """A way of sizing tasks, and the number of its runs."""

    name: str
    runs: int
    allocator: Callable[[World], Allocator]


class RunFigures(Struct, frozen=True):
    """The figures of one run, summed up as in section 5.2, with failed attempts."""

    cpu_hours: float  # cores given, times run time
    effective_cpu_hours: float  # cores kept busy, times run time
    memory_gb_hours: float  # memory given, times run time
    used_gb_hours: float  # peaks of successes, times run time
    memory_use: float  # the mean over tasks of peak over given
    run_s: float
    attempts: int
    killed: int
    tasks: int


def _sizer(make: MakeSizer) -> Callable[[World], Allocator]:
    return lambda world: PerResource(make, world.seed, SIZED)


def _agents(make: type[MalleableAllocator]) -> Callable[[World], Allocator]:
    return lambda world: make(world.seed)


DEFAULT, BANDIT, Q, LOOP = "default", GradientBandit.name, QLearning.name, FeedbackLoop.name
OURS, STATED = Ladders.name, "ladder-stated-cores"  # the latter: ours if tasks were not declared malleable
APPROACHES = {
    approach.name: approach
    for approach in (
        Approach(DEFAULT, 10, _sizer(sizers_of(User))),
        Approach(BANDIT, 50, _agents(GradientBandit)),
        Approach(Q, 100, _agents(QLearning)),
        Approach(LOOP, 20, lambda world: FeedbackLoop(world.seed, 10, world.tasks_a_run())),
        Approach(OURS, 20, _agents(Ladders)),
        Approach(STATED, 20, _sizer(ladder_sizer)),
        Approach(GradientBanditPrinted.name, 50, _agents(GradientBanditPrinted)),
        Approach(QLearningPrinted.name, 100, _agents(QLearningPrinted)),
        Approach(QLearningHarmonic.name, 100, _agents(QLearningHarmonic)),
        Approach(QLearningSeparate.name, 100, _agents(QLearningSeparate)),
    )
}


def course(world: World, approach: Approach) -> list[RunFigures]:
    """All runs; each begins with what was learned before. Agents begin with observations of the default's ten runs."""
    allocator = approach.allocator(world)
    if isinstance(allocator, MalleableAllocator):
        for task, outcome in _default_runs(world):
            allocator.observe(task, {}, outcome)
    found = []
    for number in range(approach.runs):
        if isinstance(allocator, MalleableAllocator):
            allocator.restore(allocator.state())  # as in a new process: random draws start anew
        found.append(figures_of(_run(world, allocator, number)))
    return found


def _default_runs(world: World) -> Iterator[tuple[Task, Outcome]]:
    """The outcomes of the ten runs with the workflow's own configuration."""
    allocator = APPROACHES[DEFAULT].allocator(world)
    tasks = {task.id: task for task in world.tasks}
    for number in range(APPROACHES[DEFAULT].runs):
        for record in _run(world, allocator, number):
            if isinstance(record, records.TaskEnded):
                yield tasks[record.outcome.task], record.outcome


def _run(world: World, allocator: Allocator, number: int) -> list[Event | Decision]:
    works = world.works_of_run(number)
    return run_in_pool(
        world.tasks, allocator, lambda launch, at: malleable_outcome(launch, works[launch.task], at), MACHINE
    )


def figures_of(journal: Iterable[Event | Decision]) -> RunFigures:
    """Sum up a run's records."""
    given: dict[str, Resources] = {}
    cpu = effective = memory = used = use = end = 0.0
    attempts = killed = done = 0
    begin = None
    for record in journal:
        if isinstance(record, records.Launch):
            given[record.task] = record.resources
            attempts += 1
            begin = record.at if begin is None else begin
        elif isinstance(record, records.TaskEnded):
            outcome, resources = record.outcome, given[record.outcome.task]
            seconds = outcome.ended_at - outcome.started_at
            busy, peak = outcome.usage.cores_average, outcome.usage.memory_bytes
            cpu += resources.cores * seconds
            effective += (busy.value if busy else 0.0) * seconds
            memory += resources.memory_bytes * seconds
            killed += outcome.ending is Ending.MEMORY
            end = max(end, outcome.ended_at)
            if outcome.ending is Ending.SUCCESS and peak:
                done += 1
                used += peak.value * seconds
                use += peak.value / max(1, resources.memory_bytes)
    return RunFigures(
        cpu / 3600,
        effective / 3600,
        memory / _GB_HOURS,
        used / _GB_HOURS,
        use / max(1, done),
        end - (begin or 0.0),
        attempts,
        killed,
        done,
    )
