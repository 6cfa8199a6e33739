"""A simulated batch queue that is fed the jobs of a log."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.batch_log import BatchJobs, Seconds
from headway.model.errors import InputError
from headway.model.limits import MOST_NODES_WITH_NAMES
from headway.model.records import SeenWait


def queue_of(jobs: BatchJobs, scheduling: Scheduling, most_jobs: int | None = None) -> BatchQueue:
    """A queue before its first event. `most_jobs`: limit of jobs in the queue of each user from outside the log."""
    if scheduling.nodes != "counts" and jobs.machine > MOST_NODES_WITH_NAMES:
        what = f"certain nodes of a machine of {jobs.machine:,} are more than can be simulated"
        raise InputError(what, where=jobs.name, todo=f"count them (--nodes counts), or use {MOST_NODES_WITH_NAMES:,}")
    return BatchQueue(
        jobs.machine,
        scheduling,
        submit=jobs.submit_s,
        nodes=jobs.nodes,
        req=jobs.req_s,
        run=jobs.run_s,
        most_jobs=most_jobs,
        further=jobs.further,
        needs=jobs.needs,
    )


def seen_waits(queue: BatchQueue, jobs: BatchJobs, most: int = 2000, *, unit: int = 1) -> tuple[SeenWait, ...]:
    """Waits of the `most` jobs that started last, with the waits that were planned at submission, where known.

    `unit`: how many of the queue's nodes or cores make a node of ours.
    """
    started = np.flatnonzero(queue.starts <= queue.now)
    latest = started[np.argsort(queue.starts[started], kind="stable")][-most:]
    waits = []
    for job in latest.tolist():
        submit_s, promise = float(jobs.submit_s[job]), float(queue.promises[job])
        estimate_s = None if np.isnan(promise) else promise - submit_s
        waited_s = float(queue.starts[job]) - submit_s
        waits.append(SeenWait(-(-int(jobs.nodes[job]) // unit), float(jobs.req_s[job]), estimate_s, waited_s))
    return tuple(waits)


def schedule(jobs: BatchJobs, scheduling: Scheduling, progress: Callable[[int], None] | None = None) -> Seconds:
    """The start time of each job; `progress` is called with the number of jobs submitted so far."""
    queue = queue_of(jobs, scheduling)
    queue.run(progress)
    return queue.starts
