"""`Unit`: all workflows of a machine, several times, through one queue under one strategy, which may learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.grouping.simple import PerStage
from headway.journal.story.jobs import Jobs
from headway.kernels.batch.queue import Backfill, Dependency
from headway.model import records
from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Figure
from headway.planning import PLANS
from headway.planning.base import Estimate, Planner
from headway.planning.staged import StagedPlanner
from headway.timing.timings import Ahead
from headway.waiting.asa import ALTERNATIVES_S, Asa
from headway.waiting.base import Draw, Shape, Wait, WaitModel
from headway_papers.asa.accuracy import Accuracy, accuracy_of
from headway_papers.asa.machines import MACHINES, fresh, jobs_of, window_s
from headway_papers.asa.published import ASA, BIG_JOB, PER_STAGE, WORKFLOWS
from headway_papers.asa.shapes import instance

NAIVE, PRINTED, AT_ONCE, HEADWAY = "asa-naive", "asa-printed", "all-at-once", "headway"
DEPENDENT = (ASA, PRINTED, AT_ONCE)  # tell the scheduler which job waits for which
# The rule for dependent jobs matters only to strategies that tell the scheduler of dependencies.
RULES: tuple[Dependency, ...] = ("reserved", "slurm")
STRATEGIES: tuple[tuple[str, Dependency], ...] = (
    (BIG_JOB, "reserved"),
    (PER_STAGE, "reserved"),
    *((plan, rule) for plan in DEPENDENT for rule in RULES),
    (NAIVE, "reserved"),
    (HEADWAY, "reserved"),
)
_MINUTE_S = 60.0


def strategies(backfill: Backfill) -> tuple[tuple[str, Dependency], ...]:
    """The strategies for a queue. `fcfs` has no reservations, so both rules for dependent jobs are the same there."""
    return tuple(each for each in STRATEGIES if backfill != "fcfs" or each[1] == "reserved")


class Longest(WaitModel):
    """Always predicts the longest wait, so that all stages are submitted at once: shows the most that being early can
    gain."""

    name = "longest"
    learns = False

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        return Wait(ALTERNATIVES_S[-1])

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        return [ALTERNATIVES_S[-1]] * len(shares)

    def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
        """Nothing is learned."""


class Unit(Struct, frozen=True):
    """What one process simulates at a time."""

    machine: str
    trace: int
    backfill: Backfill
    load: float
    plan: str
    dependency: Dependency
    repeats: int


class Row(Struct, frozen=True):
    """One workflow's run through the queue."""

    workflow: str
    cores: int
    repeat: int
    start_s: float
    status: str
    makespan_s: float
    total_wait_s: float  # sum over its jobs, each from its submission or its predecessor's end, if that was later
    perceived_wait_s: float  # time in which none of its tasks ran
    core_hours: float  # held by its jobs
    idle_core_hours: float  # of these, the ones in which no task ran: the overhead
    jobs: int
    early: int  # jobs that started too early and were released


class Done(Struct, frozen=True, tag=True):
    """The results of a unit."""

    unit: Unit
    rows: list[Row]
    accuracy: list[Accuracy]  # §4.8, with what was learned by then; only for `asa` itself
    cpu_s: float


def starts_s(unit: Unit) -> list[tuple[str, int, int, float]]:
    """Workflow, cores, repetition and start of each run: spread over the window, shuffled anew for each repetition."""
    machine = MACHINES[unit.machine]
    cells = [(workflow, cores) for workflow in WORKFLOWS for cores in machine.cores]
    draw = np.random.Generator(np.random.Philox(key=[unit.trace, 48]))
    order = [(*cells[at], repeat) for repeat in range(unit.repeats) for at in draw.permutation(len(cells)).tolist()]
    first_s, last_s = window_s(jobs_of(machine, unit.trace, unit.load))
    step_s = (last_s - first_s) / len(order)
    times_s = [round((first_s + step_s * at) / _MINUTE_S) * _MINUTE_S for at in range(len(order))]
    return [(*cell, at) for cell, at in zip(order, times_s, strict=True)]


def carry_out(unit: Unit) -> Done:
    """Simulate one queue with all runs in it at once (§4.3); what ASA learns from one run helps the next."""
    began = time.process_time()
    machine = MACHINES[unit.machine]
    queue = fresh(machine, unit.trace, unit.load, unit.backfill, unit.dependency)
    model = Asa("default" if unit.plan == PRINTED else "tuned", seed=unit.trace)
    make = planner_of(unit.plan, model)
    runs: list[SimulatedRun] = []
    begun = starts_s(unit)
    for number, (workflow, cores, _, start_s) in enumerate(begun, start=1):
        made = instance(workflow, cores, machine.cores_of_node)
        runs.append(run_through(made, Through(make, start_s, seed=unit.trace), number))
    simulate(queue, runs)
    rows = [
        row_of(run.journal, workflow, cores, repeat, machine.cores_of_node)
        for run, (workflow, cores, repeat, _) in zip(runs, begun, strict=True)
    ]
    accuracy = accuracy_of(machine, queue, model, unit.trace) if unit.plan == ASA else []
    return Done(unit, rows, accuracy, round(time.process_time() - began, 3))


def planner_of(plan: str, model: Asa) -> Callable[[Estimate], Planner]:
    """A planner for each run; those of ASA share one model of waits."""
    if plan not in (*DEPENDENT, NAIVE):
        return PLANS[plan]
    timing = Ahead(depends=plan != NAIVE, as_printed=plan == PRINTED)

    def make(estimate: Estimate) -> Planner:
        return StagedPlanner(plan, PerStage(), timing, estimate, Longest() if plan == AT_ONCE else model)

    return make


def row_of(journal: Sequence[Event | Decision], workflow: str, cores: int, repeat: int, cores_of_node: int) -> Row:
    """Sum up a run's records. A node has one task at a time, so busy tasks are busy nodes."""
    began = journal[0].at
    jobs = Jobs.of(journal)
    busy: list[tuple[float, float]] = []
    status, early = "unfinished", 0
    for record in journal:
        match record:
            case records.Release():
                early += record.too_early
            case records.TaskEnded() if record.outcome.ending is Ending.SUCCESS:
                busy.append((record.outcome.started_at, record.outcome.ended_at))
            case records.Finish():
                status = record.status
    ended = max((end for _, end in busy), default=began)
    held_s = sum(job.held_node_s(journal[-1].at) for job in jobs.known.values())
    busy_s = sum(end - begin for begin, end in busy)
    return Row(
        workflow=workflow,
        cores=cores,
        repeat=repeat,
        start_s=began,
        status=status,
        makespan_s=ended - began,
        total_wait_s=sum(jobs.waits_s()),
        perceived_wait_s=ended - began - covered_s(busy),
        core_hours=cores_of_node * held_s / 3600,
        idle_core_hours=cores_of_node * (held_s - busy_s) / 3600,
        jobs=len(jobs.known),
        early=early,
    )


def covered_s(spans: Sequence[tuple[float, float]]) -> float:
    """The length of the union of time spans.

    >>> covered_s([(0, 10), (5, 12), (20, 21)])
    13.0
    """
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
