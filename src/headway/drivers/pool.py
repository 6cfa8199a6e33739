"""A workflow through a fixed pool in virtual time: one allocation of everything, granted at once."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.drivers.assemble import known, orders, sizers
from headway.drivers.simulated import SimulatedRun, simulate
from headway.engine.engine import Engine
from headway.engine.placer import Placer
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.instance import Instance
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning.one_allocation import OneAllocation
from headway.simulation.pool import POOL, PoolResult, pool_outcome, pool_result
from headway.sizing.base import Sizer
from headway.sizing.per_resource import PerResource
from headway.version import __version__


class InPool(Struct, frozen=True):
    """How a workflow goes through the pool."""

    order: str = "fifo"
    sizer: str | Callable[[str], Sizer] = "user"
    ttf: float = 1.0
    seed: int = 0
    pool: Resources = POOL


def run_in_pool(instance: Instance, how: InPool) -> tuple[PoolResult, SimulatedRun]:
    """The engine and policies of real runs; cores and memory are all that the pool has."""
    sizer = known("sizer", how.sizer, sizers()) if isinstance(how.sizer, str) else how.sizer
    settings = records.RunStarted(
        at=0.0,
        run="1",
        uid="pool",
        name=instance.workflow.name,
        directory="",
        source="",
        version=__version__,
        sizer=how.sizer if isinstance(how.sizer, str) else getattr(sizer, "name", ""),
        order=how.order,
        seed=how.seed,
    )
    allocator = PerResource(sizer, how.seed, ("cores", "memory_bytes"))
    order = known("order", how.order, orders())()
    engine = Engine(settings, allocator, order, OneAllocation(), Placer())
    run = SimulatedRun(
        engine=engine,
        tasks=list(instance.workflow),
        outcome_of=lambda launch, at: pool_outcome(launch, instance.recorded[launch.task], at, how.ttf),
        node=how.pool,
        input_bytes=lambda task: _input_bytes(instance, task),
    )
    simulate(BatchQueue(1), [run])
    return pool_result(run.journal, instance), run


def _input_bytes(instance: Instance, task: Task) -> int:
    return sum(instance.file_bytes.get(path, 0) for path in task.inputs)
