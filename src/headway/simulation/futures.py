"""Imagined futures of a queue, made of its past."""

from __future__ import annotations

import numpy as np

from headway.kernels.batch.queue import BatchQueue
from headway.model.batch_log import BatchJobs

DAY_S = 86_400.0
WINDOW_DAYS = 14  # of the past that are repeated


def imagined_future(queue: BatchQueue, jobs: BatchJobs, seed: int) -> BatchQueue:
    """A copy of the queue whose future repeats days of its past; nothing of the actual future is used.

    Jobs arrive as they did from a random earlier day on, at the same time of day. Each job that runs or waits now runs
    for a share of its request, drawn from the shares of jobs that have ended; for a running job, from the shares above
    what it has used already.
    """
    draw = np.random.Generator(np.random.Philox(key=seed))
    now = queue.now
    over = np.flatnonzero(queue.starts + jobs.run_s <= now)
    shares = np.sort(jobs.run_s[over] / jobs.req_s[over]) if len(over) else np.ones(1)
    days = int(now // DAY_S)
    length = max(1, min(WINDOW_DAYS, days))
    back_s = DAY_S * (draw.integers(length, days + 1) if days >= length else max(1, days))
    columns = []
    for turn in range(max(1, WINDOW_DAYS * 2 // length)):
        first, last = np.searchsorted(jobs.submit_s, [now - back_s, min(now, now - back_s + length * DAY_S)])
        came = slice(int(first), int(last))
        submit_s = jobs.submit_s[came] + back_s + turn * length * DAY_S
        columns.append(np.array([submit_s, jobs.nodes[came], jobs.req_s[came], jobs.run_s[came]]))

    def run_s(req_s: float, elapsed_s: float) -> float:
        left = shares[np.searchsorted(shares, elapsed_s / req_s, side="right") :]
        return req_s if not len(left) else req_s * float(left[draw.integers(len(left))])

    return queue.with_future(np.concatenate(columns, axis=1), run_s)
