"""`Run`: one workflow through one queue from one start under one plan. `Row`: its result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from headway.drivers.assemble import plans as all_plans
from headway.drivers.simulated import simulate
from headway.drivers.through_queue import Through, node_of, run_through
from headway.formats.read_any import read_instance
from headway.kernels.batch.queue import BatchQueue
from headway.model.errors import InputError
from headway.model.instance import Instance
from headway.model.records import Decision, Event, SeenWait, Submit
from headway.report.queue.through_queue import passage_of
from headway.simulation.batch import seen_waits
from headway.studies.queues import Queue, named

Key = tuple[Any, ...]

WHOLE, PER_TASK_WAY, IN_PARTS = "one-job", "one-job-per-task", "in-parts"
THEN_PER_TASK = "in-parts-then-per-task"


class Run(Struct, frozen=True):
    """A run to simulate."""

    queue: Queue
    workflow: str  # its file
    start_s: float  # since the log's first submission
    plan: str
    seed: int = 0

    @property
    def key(self) -> Key:
        """Identifies the run in a ledger."""
        _, *queue = structs.astuple(self.queue)
        known = (0 if value is None else value for value in queue)
        return self.queue.name, *known, named(self.workflow), self.start_s, self.seed, self.plan


class Row(Struct, frozen=True):
    """A finished run: a line of the ledger.

    The fields up to `plan` are the key, and begin with those of the queue; after them come those of a `Passage`.
    """

    trace: str
    requests: str
    cancelled: str
    whole_minutes: bool
    machine: int  # 0: as the log says
    skip_bad: bool
    backfill: str
    nodes: str
    rules: str
    dependency: str
    most_jobs: int  # 0: no limit
    begins_s: float
    node_cores: int  # 0: as many as the largest task needs
    node_memory_bytes: int  # 0: memory does not count
    workflow: str
    start_s: float
    seed: int
    plan: str
    status: str
    makespan_s: float
    jobs: int
    expired: int
    first_wait_s: float
    mean_wait_s: float
    node_hours: float
    busy_share: float
    core_hours: float
    used_core_hours: float
    way: str  # how tasks were grouped: one-job, one-job-per-task, in-parts or in-parts-then-per-task
    cpu_s: float  # of the simulation

    @property
    def key(self) -> Key:
        """The key of the run."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def place(self) -> Key:
        """The key without the plan, which runs of different plans share."""
        return self.key[:-1]

    @property
    def through(self) -> bool:
        """Whether the workflow was completed."""
        return self.status == "succeeded"


KEY = Row.__struct_fields__[: Row.__struct_fields__.index("plan") + 1]


def rows_of(runs: Sequence[Run]) -> Iterator[Row]:
    """Simulate runs of one queue in the order of their starts. The queue advances once and is copied for each run."""
    queue, jobs = runs[0].queue.fresh(), runs[0].queue.jobs()
    for start_s, together in groupby(runs, key=lambda run: run.start_s):
        queue.advance(start_s)
        described = runs[0].queue
        seen = seen_waits(queue, jobs, unit=described.node_cores or 1 if described.nodes == "whole" else 1)
        for run in together:
            yield _row(run, queue, seen)


def _row(run: Run, queue: BatchQueue, seen: tuple[SeenWait, ...]) -> Row:
    began = time.process_time()
    instance = instance_of(run.workflow)
    asks, cores = run.queue.asks(), run.queue.node_cores
    node = None if cores is None else node_of(cores, run.queue.node_memory_bytes)
    through = Through(all_plans()[run.plan], run.start_s, seed=run.seed, node=node, seen_waits=seen, asks=asks)
    simulated = run_through(instance, through)
    simulate(queue.clone(), [simulated])
    passage = passage_of(run.plan, simulated.journal)
    return Row(
        **dict(zip(KEY, run.key, strict=True)) | structs.asdict(passage),
        way=_way(simulated.journal, len(instance.workflow)),
        cpu_s=round(time.process_time() - began, 3),
    )


def _way(journal: Sequence[Event | Decision], tasks: int) -> str:
    """How the plan grouped tasks. The GLUME thesis (2020), section 5.2, counts the simple groupings of Zhang."""
    submits = [record for record in journal if isinstance(record, Submit)]
    if submits and submits[0].role == "single-task":
        return PER_TASK_WAY
    if not submits or len(submits[0].tasks) in (0, tasks):
        return WHOLE
    return THEN_PER_TASK if any(submit.role == "single-task" for submit in submits) else IN_PARTS


@lru_cache(maxsize=64)
def instance_of(file: str) -> Instance:
    """A recorded workflow, read once a process; InputError if nothing says how long its tasks run."""
    return recorded_instance(Path(file), "compare recorded workflows")


def recorded_instance(path: Path, verb: str) -> Instance:
    """Read a recorded workflow; InputError if a task has no run time. `verb` is what the user wants to do with it."""
    instance = read_instance(path)
    recorded = instance.recorded
    unknown = [task.id for task in instance.workflow if task.id not in recorded or recorded[task.id].run_s is None]
    if unknown:
        raise InputError(
            f"nothing says how long {unknown[0]!r} runs ({len(unknown)} of {len(instance.workflow)} tasks)",
            where=str(path),
            todo=f"{verb}: WfFormat, Pegasus DAX, or `headway convert` of a finished run",
        )
    return instance
