"""A workflow through a fixed pool in virtual time, by the engine: one allocation of everything, granted at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.drivers.assemble import known, orders, sizers
from headway.drivers.run_settings import RunSettings, run_started
from headway.drivers.simulated import OutcomeOf, SimulatedRun, simulate
from headway.engine.engine import Engine
from headway.kernels.batch.queue import BatchQueue
from headway.model.instance import Instance
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning.without_queue import OneAllocation
from headway.sizing.base import Allocator, Sizer
from headway.sizing.per_resource import PerResource
from headway_papers.fixed_pool.pool import POOL, PoolResult, pool_outcome, pool_result

SIZED = ("cores", "memory_bytes")  # the resources of a fixed pool


def run_in_pool(
    tasks: Sequence[Task],
    allocator: Allocator,
    outcome_of: OutcomeOf,
    pool: Resources,
    order: str = "fifo",
    input_bytes: Callable[[Task], int] = lambda task: 0,
) -> list[Event | Decision]:
    """The records of a run of `tasks`, parents before children, by the engine and policies of real runs."""
    settings = run_started(RunSettings(sizer="", order=order), name="pool", at=0.0, uid="pool")
    engine = Engine(settings, allocator, known("order", order, orders())(), OneAllocation())
    run = SimulatedRun(engine, tasks, outcome_of, pool, input_bytes)
    simulate(BatchQueue(1), [run])
    return run.journal


def recorded_in_pool(
    instance: Instance, order: str, sizer: str | Callable[[str], Sizer], ttf: float, pool: Resources = POOL
) -> PoolResult:
    """Run a recorded workflow; tasks with too little memory fail after `ttf` of their run time."""
    make = known("sizer", sizer, sizers()) if isinstance(sizer, str) else sizer
    journal = run_in_pool(
        list(instance.workflow),
        PerResource(make, resources=SIZED),
        lambda launch, at: pool_outcome(launch, instance.recorded[launch.task], at, ttf),
        pool,
        order,
        lambda task: sum(instance.file_bytes.get(path, 0) for path in task.inputs),
    )
    return pool_result(journal, instance)
