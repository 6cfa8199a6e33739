"""`Queue`: a log, how it is read and how it is scheduled. With workflow, start, plan and seed it determines a run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from headway.formats.read_batch_log import read_batch_log
from headway.kernels.batch.queue import Backfill, BatchQueue, Dependency, Rules, Scheduling, Selection
from headway.model.batch_log import BatchJobs, BatchLog
from headway.model.job import Asks
from headway.simulation.batch import queue_of
from headway.simulation.batch_jobs import Choices, jobs_of

_MINUTE_S = 60.0


class Queue(Struct, frozen=True):
    """The description of a batch queue, from which any process makes the same queue."""

    trace: str  # the log's file
    requests: Literal["real", "accurate"] = "real"
    cancelled: Literal["drop", "full-request", "one-second"] = "drop"
    whole_minutes: bool = False  # requests are rounded down to minutes, at least one, and jobs are stopped at them
    machine: int | None = None
    skip_bad: bool = False
    backfill: Backfill = "conservative"
    nodes: Selection | Asks = "counts"
    rules: Rules = "pyss"
    dependency: Dependency = "slurm"
    most_jobs: int | None = None
    begins_s: float = 0.0  # jobs submitted earlier are left out, so that the machine is empty at this time
    node_cores: int | None = None  # with nodes whole or shared, where processors of the log are cores
    node_memory_bytes: int | None = None

    @property
    def name(self) -> str:
        """The name of the log in results."""
        return named(self.trace)

    def jobs(self) -> BatchJobs:
        """The jobs; times are counted from the first submission of the log."""
        return _jobs(self)

    def fresh(self) -> BatchQueue:
        """A new queue, before its first event."""
        nodes: Selection = self.nodes if self.nodes in ("ids", "contiguous") else "counts"
        scheduling = Scheduling(self.backfill, nodes, self.rules, dependency=self.dependency)
        return queue_of(self.jobs(), scheduling, self.most_jobs)

    def asks(self) -> Asks | None:
        """What the jobs of a workflow ask for where the queue counts cores."""
        return self.nodes if self.nodes in ("whole", "shared") else None


def named(file: str) -> str:
    """A file's name without the suffixes of its format and compression."""
    name = Path(file).name
    for ending in (".gz", ".swf", ".txt", ".csv", ".log", ".sacct", ".dax", ".xml", ".json"):
        name = name.removesuffix(ending) or name
    return name


@lru_cache(maxsize=4)
def _log(trace: str, skip_bad: bool) -> BatchLog:
    return read_batch_log(Path(trace), skip_bad)


@lru_cache(maxsize=4)
def _jobs(queue: Queue) -> BatchJobs:
    choices = Choices(
        requests=queue.requests, cancelled=queue.cancelled, machine=queue.machine, skip_bad=queue.skip_bad
    )
    jobs = jobs_of(_log(queue.trace, queue.skip_bad), choices, queue.trace)
    if queue.whole_minutes:  # requests also end the jobs, as in the simulator of the GLUME thesis (2020)
        req_s = np.maximum(np.floor(jobs.req_s / _MINUTE_S) * _MINUTE_S, _MINUTE_S)
        jobs = structs.replace(jobs, req_s=req_s, run_s=np.minimum(jobs.run_s, req_s))
    kept = jobs.submit_s >= queue.begins_s
    if kept.all():
        return jobs
    return structs.replace(
        jobs, submit_s=jobs.submit_s[kept], nodes=jobs.nodes[kept], req_s=jobs.req_s[kept], run_s=jobs.run_s[kept]
    )
