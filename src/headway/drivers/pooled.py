"""Prepares several workflows for one simulated run: a pool, which each of them joins at its own time."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from headway.drivers.assemble import assemble
from headway.drivers.run_settings import RunSettings, run_started
from headway.drivers.simulated import SimulatedRun
from headway.drivers.through_queue import Through, node_for
from headway.model import records
from headway.model.instance import Instance
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.base import known_run_times
from headway.simulation.task_outcomes import UNKNOWN_RUN_S, simulated_outcome


class Arrival(Struct, frozen=True):
    """A workflow, the name of its share, and when it comes."""

    name: str
    instance: Instance
    at_s: float


def run_pooled(
    arrivals: Sequence[Arrival], through: Through, plan: str, most_jobs_each: int | None = None
) -> SimulatedRun:
    """A simulated run that begins with the first workflow and gets the tasks of the others as they arrive.

    `most_jobs_each`: how many jobs it may have at a time for each workflow; None: an equal part of the queue's limit.
    """
    ordered = sorted(arrivals, key=lambda arrival: arrival.at_s)
    settings = run_started(
        RunSettings(sizer="user", order="fifo", seed=through.seed, plan=plan),
        name="pool",
        at=ordered[0].at_s,
        uid="simulated-pool",
        growing=True,
    )
    joined = [joining(arrival) for arrival in ordered]
    recorded = {task: seen for each in joined for task, seen in each.recorded.items()}
    sizes = {path: size for each in joined for path, size in each.file_bytes.items()}
    run_s = {task: seen.run_s for task, seen in recorded.items() if seen.run_s is not None}
    batches = [
        records.TasksAdded(arrival.at_s, [each.workflow.tasks[task_id] for task_id in each.workflow.topological()])
        for arrival, each in zip(ordered, joined, strict=True)
    ]
    return SimulatedRun(
        engine=assemble(settings, through.plan(known_run_times(run_s, UNKNOWN_RUN_S))),
        tasks=batches[0].tasks,
        outcome_of=lambda launch, at: simulated_outcome(launch, recorded.get(launch.task), at),
        node=node_for([arrival.instance for arrival in ordered], through.node),
        input_bytes=lambda task: sum(sizes.get(path, 0) for path in task.inputs),
        start_s=ordered[0].at_s,
        seen_waits=through.seen_waits,
        asks=through.asks,
        later=batches[1:],
        most_jobs_each=most_jobs_each,
    )


def joining(arrival: Arrival) -> Instance:
    """The workflow as a pool sees it: its ids and paths below its name, its tasks on its share."""
    prefix = f"{arrival.name}/"
    workflow = Workflow(arrival.name)
    workflow.add([_renamed(task, prefix, arrival.name) for task in arrival.instance.workflow])
    return structs.replace(
        arrival.instance,
        workflow=workflow,
        recorded={prefix + task: seen for task, seen in arrival.instance.recorded.items()},
        file_bytes={prefix + path: size for path, size in arrival.instance.file_bytes.items()},
    )


def _renamed(task: Task, prefix: str, share: str) -> Task:
    lists = {
        name: tuple(prefix + each for each in getattr(task, name)) for name in ("inputs", "outputs", "temp", "parents")
    }
    return structs.replace(task, id=prefix + task.id, terms=structs.replace(task.terms, share=share), **lists)
