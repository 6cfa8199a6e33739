"""Prepares a recorded workflow for a run through a simulated batch queue."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from headway.clusters.simulated import PLENTY_BYTES
from headway.drivers.assemble import assemble
from headway.drivers.run_settings import RunSettings, run_started
from headway.drivers.simulated import SimulatedRun
from headway.model import records
from headway.model.errors import InputError
from headway.model.instance import Instance
from headway.model.job import Asks
from headway.model.resources import Resources, describe
from headway.planning.base import Estimate, Planner, known_run_times
from headway.simulation.task_outcomes import UNKNOWN_RUN_S, simulated_outcome


class Through(Struct, frozen=True):
    """The settings of a workflow's run through the queue."""

    plan: Callable[[Estimate], Planner]
    start_s: float = 0.0
    seed: int = 0
    node: Resources | None = None  # what a node has; None: as much as the largest task needs
    seen_waits: tuple[records.SeenWait, ...] = ()  # how long other jobs have waited so far
    asks: Asks | None = None  # None: the queue counts nodes


def run_through(instance: Instance, through: Through, number: int = 1) -> SimulatedRun:
    """A simulated run whose tasks behave as recorded, and whose planner knows the recorded run times."""
    settings = run_started(
        RunSettings(sizer="user", order="fifo", seed=through.seed),
        name=instance.workflow.name,
        at=through.start_s,
        run=str(number),
        uid=f"simulated-{number}",
    )
    run_s = {task: seen.run_s for task, seen in instance.recorded.items() if seen.run_s is not None}
    planner = through.plan(known_run_times(run_s, UNKNOWN_RUN_S))
    workflow = instance.workflow
    return SimulatedRun(
        engine=assemble(settings, planner),
        tasks=[workflow.tasks[task_id] for task_id in workflow.topological()],
        outcome_of=lambda launch, at: simulated_outcome(launch, instance.recorded.get(launch.task), at),
        node=node_for([instance], through.node),
        input_bytes=lambda task: sum(instance.file_bytes.get(path, 0) for path in task.inputs),
        start_s=through.start_s,
        seen_waits=through.seen_waits,
        asks=through.asks,
    )


def node_of(cores: int, memory_bytes: int | None = None) -> Resources:
    """A node of this size; without a size of its memory, memory never runs out and does not count."""
    return Resources(cores=cores, memory_bytes=memory_bytes or PLENTY_BYTES, disk_bytes=PLENTY_BYTES)


def check_node(node: Resources, machine: int, instance: Instance) -> None:
    """Raise InputError if a machine of so many cores has no such node, or a task does not fit on the node."""
    todo = "give nodes another size with --node-cores and --node-memory"
    if node.cores > machine:
        raise InputError(f"the machine has {machine:,} cores: fewer than a node", where="--node-cores", todo=todo)
    for task in instance.workflow:
        for name in ("cores", "memory_bytes"):
            if (needed := task.hints.get(name, 0.0)) > (has := node[name] or 0.0):
                what = f"{task.id!r} asks for {describe(name, needed)}, and a node has {describe(name, has)}"
                raise InputError(what, where=instance.workflow.name, todo=todo)


def node_for(instances: Sequence[Instance], node: Resources | None = None) -> Resources:
    """A node that the largest task of these workflows fills, as in GLUME's experiments, with endless memory.

    Where `node` says what a node has, it is that, with as many GPUs as a task needs: logs do not tell of them.
    """
    hints = [task.hints for instance in instances for task in instance.workflow]
    if node is None:
        most = max((each.get("cores", 1.0) for each in hints), default=1.0)
        node = Resources(cores=most, memory_bytes=PLENTY_BYTES, disk_bytes=PLENTY_BYTES)
    return node.replace(gpus=max(node.gpus, *(math.ceil(each.get("gpus", 0)) for each in hints), 0))
