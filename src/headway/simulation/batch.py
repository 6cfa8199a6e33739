"""A batch queue that works through the jobs of a log."""

from __future__ import annotations

from collections.abc import Callable

from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.batch_log import BatchJobs, Seconds


def queue_of(jobs: BatchJobs, scheduling: Scheduling, most_jobs: int | None = None) -> BatchQueue:
    """The machine before the first job came. `most_jobs` is how many others may have in it at a time, each."""
    return BatchQueue(
        jobs.machine,
        scheduling,
        submit=jobs.submit_s,
        nodes=jobs.nodes,
        req=jobs.req_s,
        run=jobs.run_s,
        most_jobs=most_jobs,
    )


def schedule(jobs: BatchJobs, scheduling: Scheduling, progress: Callable[[int], None] | None = None) -> Seconds:
    """When each job starts; `progress` hears now and then how many have come."""
    queue = queue_of(jobs, scheduling)
    queue.run(progress)
    return queue.starts


BatchPolicy = Scheduling
