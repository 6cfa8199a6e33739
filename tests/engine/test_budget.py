"""Runs with a limit of core-hours."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from msgspec import structs

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS
from headway.report.queue.through_queue import passage_of
from tests.engine.runs import PretendRun

NODE = Resources(cores=2.0, memory_bytes=10**9, disk_bytes=10**9)


def levels(*widths: int, run_s: float) -> Instance:
    """Levels of tasks that take up to twice as long as the shortest."""
    names = [[f"l{level}t{number}" for number in range(width)] for level, width in enumerate(widths)]
    parents = dict.fromkeys(names[0], ()) | {name: tuple(above) for above, below in pairwise(names) for name in below}
    tasks = [Task(name, "c", "-", parents=before, hints={"cores": 2.0}) for name, before in parents.items()]
    taken = {task.id: Recorded(run_s=run_s * (1 + number % 7 / 6)) for number, task in enumerate(tasks)}
    return Instance(Workflow("levels", tasks), taken)


def passed(instance: Instance, budget: float | None, plan: str = "headway", busy: int = 0) -> SimulatedRun:
    """Through a machine of 16 nodes, of which others have `busy` for two hours."""
    others = {"submit": [0], "nodes": [busy], "req": [7200], "run": [7200]} if busy else {}
    run = run_through(instance, Through(PLANS[plan], 1.0, node=NODE))
    run.engine.settings = structs.replace(run.engine.settings, budget=budget)
    simulate(BatchQueue(16, Scheduling("conservative"), **others), [run])
    return run


def held_when_reached(run: SimulatedRun) -> tuple[float, float]:
    """Core-hours when the run stopped, and the most that its jobs could hold until the tasks that ran then ended."""
    [stop] = [record for record in run.journal if isinstance(record, records.BudgetUsed)]
    cores = sum(job.request.per_node.nodes * 2.0 for job in run.engine.jobs.values() if job.started_at is not None)
    ends = [record.at for record in run.journal if isinstance(record, records.TaskEnded) and record.at >= stop.at]
    return stop.held, cores * (max(ends, default=stop.at) - stop.at) / 3600


@pytest.mark.parametrize("seed", range(8))
def test_a_budget_is_exceeded_only_by_what_ran_when_it_was_reached(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(25):
        instance = levels(*(draw.randint(1, 20) for _ in range(draw.randint(1, 4))), run_s=draw.choice([60, 900, 7000]))
        plan, busy = draw.choice(["headway", "level-by-level", "one-job-per-task", "one-job"]), draw.choice([0, 12, 16])
        whole = passage_of("p", passed(instance, None, plan, busy).journal).core_hours
        budget = whole * draw.uniform(0.1, 0.9)
        run = passed(instance, budget, plan, busy)
        used = passage_of("p", run.journal).core_hours
        assert run.engine.finished in ("stopped", "succeeded")  # if all that was left was running
        reached, running = held_when_reached(run)
        assert budget <= reached <= budget + 0.02  # a second of all nodes
        assert used <= reached + running + 0.02


def test_a_budget_that_suffices_changes_nothing() -> None:
    instance = levels(3, 9, 1, run_s=600)
    without, within = passed(instance, None), passed(instance, 1000.0)
    assert within.engine.finished == "succeeded"
    assert passage_of("p", within.journal) == passage_of("p", without.journal)


def test_what_is_known_to_need_more_is_not_begun() -> None:
    tasks = [Task(f"t{number}", "c", "-", hints={"cores": 2.0}) for number in range(4)]
    run = PretendRun(tasks, plan="one-job", budget=1.5)
    run.engine.run_times.observe(tasks[0], Outcome("t0", 1, Ending.SUCCESS, 0.0, 3600.0))  # 8 core-hours in all
    [stop] = [made for made in run.decide() if isinstance(made, records.BudgetUsed)]
    assert (stop.held, stop.needed) == (0.0, pytest.approx(8.0))
    assert run.engine.finished == "stopped"
    assert not run.engine.jobs


def test_hints_do_not_keep_a_run_from_beginning() -> None:
    run = PretendRun([Task("t", "c", "-", hints={"walltime_s": 1e6})], plan="one-job", budget=1.0)
    assert not [made for made in run.decide() if isinstance(made, records.BudgetUsed)]
