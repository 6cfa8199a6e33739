"""Simulated runs in which much goes wrong: jobs expire, tasks run out of memory and time, and one fails for good."""

from __future__ import annotations

from msgspec import structs

from headway.drivers.assemble import assemble
from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.engine.engine import Engine
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.instance import Instance, Recorded
from headway.model.records import RunStarted
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS

GB = 10**9
NODE = Resources(cores=2, memory_bytes=8 * GB, disk_bytes=8 * GB)
# Submit time, nodes, requested and actual run time of other users' jobs on eight nodes.
OTHERS = [(0, 6, 1_500, 1_400), (1, 8, 5_000, 2_000), (2_000, 5, 9_000, 4_000), (4_000, 3, 6_000, 600)]
OTHERS += [(6_000 + 700 * number, 1 + number % 7, 2_000, 1_000) for number in range(30)]


def tasks() -> list[Task]:
    """Three levels: in the first one task takes too long, in the second one exceeds its memory."""
    wide = [Task(f"a{number}", "a", "-", hints={"cores": 2.0}) for number in range(4)]
    slow = Task("slow", "slow", "-", hints={"cores": 2.0, "walltime_s": 500.0})
    endless = Task("endless", "endless", "-", hints={"cores": 2.0}, limits={"walltime_s": 100.0})
    names = tuple(task.id for task in (*wide, slow))
    large = Task("large", "large", "-", parents=names, hints={"cores": 1.0, "memory_bytes": float(GB)})
    last = [Task(f"b{number}", "b", "-", parents=("large",), hints={"cores": 2.0}) for number in range(3)]
    cut_off = Task("after-endless", "b", "-", parents=("endless",))
    return [*wide, slow, endless, large, *last, cut_off]


def recorded() -> dict[str, Recorded]:
    """What the tasks really need."""
    found = {task.id: Recorded(run_s=600.0, memory_bytes=GB) for task in tasks()}
    found["slow"] = Recorded(run_s=700.0)
    found["endless"] = Recorded(run_s=50_000.0)
    found["large"] = Recorded(run_s=300.0, memory_bytes=3 * GB)
    return found


def hard_queue(most_jobs: int | None) -> BatchQueue:
    """Eight nodes that other users keep busy. With a limit on jobs, dependent jobs have no reservation."""
    columns = [list(column) for column in zip(*sorted(OTHERS), strict=True)]
    rules = Scheduling("conservative", dependency="reserved" if most_jobs is None else "slurm")
    return BatchQueue(
        8, rules, submit=columns[0], nodes=columns[1], req=columns[2], run=columns[3], most_jobs=most_jobs
    )


def hard_engine(plan: str, settings: RunStarted) -> Engine:
    """An engine whose planner underestimates every run time: jobs expire."""
    return assemble(settings, PLANS[plan](lambda task: {"a": 350.0, "large": 120.0}.get(task.category, 400.0)))


def hard_run(plan: str) -> SimulatedRun:
    """A run that is ready to be simulated."""
    run = run_through(Instance(Workflow("hard", tasks()), recorded()), Through(PLANS[plan], node=NODE))
    run.engine = hard_engine(plan, structs.replace(run.engine.settings, keep_going=True, version="0"))
    return run


def simulated(run: SimulatedRun, most_jobs: int | None = None) -> SimulatedRun:
    """The run, driven to its end."""
    simulate(hard_queue(most_jobs), [run])
    return run
