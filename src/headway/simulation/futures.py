"""Imagined futures of a queue, made of its past."""

from __future__ import annotations

import math

import numpy as np

from headway.kernels.batch.queue import BatchQueue
from headway.model.batch_log import BatchJobs

DAY_S = 86_400.0
WINDOW_DAYS = 14  # of the past that are repeated
FEWEST_ALIKE = 200  # jobs that have ended and asked for about the same time
# Jobs that are in the queue at the same time are often a series of one user: they end early, or late, together.
IN_COMMON = 0.5


def imagined_future(queue: BatchQueue, jobs: BatchJobs, seed: int) -> BatchQueue:
    """A copy of the queue whose future repeats days of its past; nothing of the actual future is used.

    Jobs arrive as they did from a random earlier day on, at the same time of day. Each job that runs or waits now runs
    for a share of its request, drawn from the shares of jobs that have ended and asked for about as long: those who ask
    for long use more of it. For a running job only shares above what it has used already count. In one future jobs use
    rather little of their time, in another rather much: half of a draw's variance is common to all of them.
    """
    draw = np.random.Generator(np.random.Philox(key=seed))
    now = queue.now
    common = draw.standard_normal()
    over = np.flatnonzero(queue.starts + jobs.run_s <= now)
    over = over[np.argsort(jobs.req_s[over], kind="stable")]
    asked_s, shares = jobs.req_s[over], jobs.run_s[over] / jobs.req_s[over]
    days = int(now // DAY_S)
    length = max(1, min(WINDOW_DAYS, days))
    back_s = DAY_S * (draw.integers(length, days + 1) if days >= length else max(1, days))
    columns = []
    for turn in range(max(1, WINDOW_DAYS * 2 // length)):
        first, last = np.searchsorted(jobs.submit_s, [now - back_s, min(now, now - back_s + length * DAY_S)])
        came = slice(int(first), int(last))
        submit_s = jobs.submit_s[came] + back_s + turn * length * DAY_S
        columns.append(np.array([submit_s, jobs.req_s[came], jobs.run_s[came], jobs.nodes[came]]))

    def run_s(req_s: float, elapsed_s: float) -> float:
        first, last = (int(np.searchsorted(asked_s, req_s, side)) for side in ("left", "right"))
        more = max(0, FEWEST_ALIKE - (last - first)) // 2
        alike = shares[max(0, first - more) : last + more]
        left = np.sort(alike[alike > elapsed_s / req_s])
        own = draw.standard_normal()
        rank = _normal(math.sqrt(IN_COMMON) * common + math.sqrt(1.0 - IN_COMMON) * own)
        return req_s * float(left[min(int(rank * len(left)), len(left) - 1)]) if len(left) else req_s

    return queue.with_future(np.concatenate(columns, axis=1), run_s)


def _normal(value: float) -> float:
    """How likely a standard normal number is smaller than this one."""
    return (1.0 + math.erf(value / math.sqrt(2.0))) / 2.0
