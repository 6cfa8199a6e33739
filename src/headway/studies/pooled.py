"""Several workflows that arrive one after the other in one queue: each alone, all apart, and all in one pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import fmean

import numpy as np
from msgspec import Struct, structs

from headway.drivers.assemble import plans as all_plans
from headway.drivers.pooled import Arrival, run_pooled
from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, node_for, node_of, run_through
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.outcome import Ending
from headway.report.queue.through_queue import passage_of
from headway.simulation.batch import seen_waits
from headway.studies.queues import Queue, named
from headway.studies.runs import instance_of

TAIL = 90  # the percentile of response times that is shown beside the mean


class Cell(Struct, frozen=True):
    """A queue, the start of the first workflow, and when each of the workflows arrives after it."""

    queue: Queue
    start_s: float
    workflows: tuple[str, ...]  # files
    arrivals_s: tuple[float, ...]
    plan: str
    seed: int = 0


class OneWorkflow(Struct, frozen=True):
    """The response times of one workflow: from its arrival to the end of its last task."""

    workflow: str
    arrives_s: float  # after the first
    tasks: int
    alone_s: float  # without the other workflows
    apart_s: float  # beside the others, each with jobs of its own
    pooled_s: float


class Way(Struct, frozen=True):
    """All workflows of a cell, run in one way."""

    way: str
    mean_s: float  # of the response times
    tail_s: float
    core_hours: float  # held by all jobs
    used_core_hours: float
    jobs: int
    fairness: float  # Jain's index of the slowdowns against alone: 1 if all are the same
    worst: float  # the largest of these slowdowns


class PoolRow(Struct, frozen=True):
    """The result of a cell."""

    trace: str
    start_s: float
    ways: tuple[Way, Way, Way]  # alone, apart, pooled
    workflows: tuple[OneWorkflow, ...]


def drawn_arrivals(count: int, mean_s: float, seed: int) -> tuple[float, ...]:
    """Seconds after the first at which workflows arrive, in whole seconds: a Poisson process."""
    draw = np.random.Generator(np.random.Philox(key=[seed, count]))
    return (0.0, *(float(round(at)) for at in accumulate(draw.exponential(mean_s, count - 1))))


def jain(values: Sequence[float]) -> float:
    """Jain's index (Jain et al. 1984): 1 if all values are equal, 1/n if one has everything.

    >>> jain([2.0, 2.0]), jain([1.0, 0.0])
    (1.0, 0.5)
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def rows_of_cells(cells: Sequence[Cell]) -> Iterator[PoolRow]:
    """Simulate cells of one queue in the order of their starts. The queue advances once and is copied for each run."""
    described = cells[0].queue
    queue, jobs = described.fresh(), described.jobs()
    unit = described.node_cores or 1 if described.nodes == "whole" else 1
    for cell in cells:
        queue.advance(cell.start_s)
        yield row_of(cell, queue, seen_waits(queue, jobs, unit=unit))


def row_of(cell: Cell, queue: BatchQueue, seen: tuple[records.SeenWait, ...]) -> PoolRow:
    """Simulate one cell; the queue stands at its start, and is copied."""
    arrivals = [
        Arrival(named(workflow), instance_of(workflow), cell.start_s + after_s)
        for workflow, after_s in zip(cell.workflows, cell.arrivals_s, strict=True)
    ]
    cores = cell.queue.node_cores
    given = None if cores is None else node_of(cores, cell.queue.node_memory_bytes)
    node = node_for([arrival.instance for arrival in arrivals], given)
    first = Through(all_plans()[cell.plan], cell.start_s, cell.seed, node, seen, cell.queue.asks())

    def each() -> list[SimulatedRun]:
        begun = ((structs.replace(first, start_s=arrival.at_s), arrival.instance) for arrival in arrivals)
        return [run_through(instance, through, number) for number, (through, instance) in enumerate(begun, start=1)]

    alone, apart = each(), each()
    for run in alone:
        simulate(queue.clone(), [run])
    simulate(queue.clone(), apart)
    each_most, shared = queue.most_jobs, queue.clone()
    shared.most_jobs = None if each_most is None else each_most * len(arrivals)  # a limit for each workflow, as apart
    pooled = run_pooled(arrivals, first, cell.plan, each_most)
    simulate(shared, [pooled])
    alone_s, apart_s = ([passage_of("", run.journal).makespan_s for run in runs] for runs in (alone, apart))
    ended = _ended(pooled)
    pooled_s = [ended[arrival.name] - arrival.at_s for arrival in arrivals]
    workflows = tuple(
        OneWorkflow(arrival.name, after_s, len(arrival.instance.workflow), *seconds)
        for arrival, after_s, *seconds in zip(arrivals, cell.arrivals_s, alone_s, apart_s, pooled_s, strict=True)
    )
    ways = (
        _way("alone", alone_s, alone_s, alone),
        _way("apart", apart_s, alone_s, apart),
        _way("pooled", pooled_s, alone_s, [pooled]),
    )
    return PoolRow(cell.queue.name, cell.start_s, ways, workflows)


def _ended(pooled: SimulatedRun) -> dict[str, float]:
    """When the last task of each workflow of the pool succeeded."""
    ends: dict[str, float] = {}
    for record in pooled.journal:
        if isinstance(record, records.TaskEnded) and record.outcome.ending is Ending.SUCCESS:
            ends[pooled.engine.tasks[record.outcome.task].task.terms.share] = record.at
    return ends


def _way(way: str, response_s: Sequence[float], alone_s: Sequence[float], runs: Sequence[SimulatedRun]) -> Way:
    passages = [passage_of("", run.journal) for run in runs]
    unfinished = [run.engine.settings.name for run in runs if run.engine.finished != "succeeded"]
    if unfinished:
        raise RuntimeError(f"{unfinished[0]} did not complete ({way})")
    slowdowns = [took / max(1.0, without) for took, without in zip(response_s, alone_s, strict=True)]
    return Way(
        way=way,
        mean_s=fmean(response_s),
        tail_s=float(np.percentile(response_s, TAIL)),
        core_hours=sum(passage.core_hours for passage in passages),
        used_core_hours=sum(passage.used_core_hours for passage in passages),
        jobs=sum(passage.jobs for passage in passages),
        fairness=jain(slowdowns),
        worst=max(slowdowns),
    )
