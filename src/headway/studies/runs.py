"""`Run`: one workflow through one queue from one start under one plan. `Row`: what became of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct

from headway.drivers.simulated import simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue
from headway.model.instance import Instance
from headway.model.records import Decision, Event, SeenWait, Submit
from headway.planning.one_job_per_task import PER_TASK
from headway.report.queue.through_queue import passage_of
from headway.simulation.batch import seen_waits
from headway.studies.plans import plan_named
from headway.studies.queues import Queue, named
from headway.studies.recorded import recorded_instance

Key = tuple[Any, ...]

WHOLE, PER_TASK_WAY, IN_PARTS = "one-job", "one-job-per-task", "in-parts"
THEN_PER_TASK = "in-parts-then-per-task"


class Run(Struct, frozen=True):
    """What is to be simulated."""

    queue: Queue
    workflow: str  # its file
    start_s: float  # since the log's first submission
    plan: str
    seed: int = 0

    @property
    def key(self) -> Key:
        """What its row is found by."""
        queue = self.queue
        return (
            queue.name,
            queue.requests,
            queue.cancelled,
            queue.whole_minutes,
            queue.machine or 0,
            queue.skip_bad,
            queue.backfill,
            queue.nodes,
            queue.rules,
            queue.dependency,
            queue.most_jobs or 0,
            queue.begins_s,
            named(self.workflow),
            self.start_s,
            self.seed,
            self.plan,
        )


class Row(Struct, frozen=True):
    """A line of the results: what was simulated, and what came of it."""

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
    most_jobs: int  # 0: as many as it likes
    begins_s: float
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
    way: str  # of a grouper: all as one-job, one-job-per-task, in-parts, or in-parts-then-per-task
    cpu_s: float  # that the simulation took

    @property
    def key(self) -> Key:
        """As the run's."""
        return tuple(getattr(self, name) for name in KEY)

    @property
    def place(self) -> Key:
        """All but the plan: what runs of different plans have in common."""
        return self.key[:-1]

    @property
    def through(self) -> bool:
        """Whether the workflow got through."""
        return self.status == "succeeded"


KEY = Row.__struct_fields__[: Row.__struct_fields__.index("plan") + 1]


def rows_of(runs: Sequence[Run]) -> Iterator[Row]:
    """Simulate runs of one queue, whose starts do not go back: it is warmed up once and copied for each run."""
    queue, jobs = runs[0].queue.fresh(), runs[0].queue.jobs()
    for start_s, together in groupby(runs, key=lambda run: run.start_s):
        queue.advance(start_s)
        seen = seen_waits(queue, jobs)
        for run in together:
            yield _row(run, queue, seen)


def _row(run: Run, queue: BatchQueue, seen: tuple[SeenWait, ...]) -> Row:
    began = time.process_time()
    instance = instance_of(run.workflow)
    through = Through(plan_named(run.plan), run.start_s, seed=run.seed, seen_waits=seen)
    simulated = run_through(instance, through)
    simulate(queue.clone(), [simulated])
    passage = passage_of(run.plan, simulated.journal)
    return Row(
        **dict(zip(KEY, run.key, strict=True)),
        status=passage.status,
        makespan_s=passage.makespan_s,
        jobs=passage.jobs,
        expired=passage.expired,
        first_wait_s=passage.first_wait_s,
        mean_wait_s=passage.mean_wait_s,
        node_hours=passage.node_hours,
        busy_share=passage.busy_share,
        way=_way(simulated.journal, len(instance.workflow)),
        cpu_s=round(time.process_time() - began, 3),
    )


def _way(journal: Sequence[Event | Decision], tasks: int) -> str:
    """What submissions say of the plan: 002 §5.2 counts how often Zhang's is one of the simple ones."""
    submits = [record for record in journal if isinstance(record, Submit)]
    if submits and submits[0].why.rule == PER_TASK:
        return PER_TASK_WAY
    if not submits or len(submits[0].tasks) in (0, tasks):
        return WHOLE
    return THEN_PER_TASK if any(submit.why.rule == PER_TASK for submit in submits) else IN_PARTS


@lru_cache(maxsize=64)
def instance_of(file: str) -> Instance:
    """A recorded workflow, read once a process; InputError if nothing says how long its tasks run."""
    return recorded_instance(Path(file), "compare recorded workflows")
