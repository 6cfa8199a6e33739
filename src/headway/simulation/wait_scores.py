"""Scores of wait models: each is asked at every submission of a log, and learns each wait when the job starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.kernels.batch.queue import Scheduling
from headway.model.batch_log import BatchJobs, Seconds
from headway.model.records import Figure
from headway.model.wait_score import WaitScore
from headway.simulation.batch import queue_of
from headway.waiting.base import Shape, WaitModel

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # the quantiles that models are asked for
_OFTEN = 1000  # jobs between two calls of `progress`


class Waits(Struct, frozen=True):
    """The wait of each job of a log, simulated, and the wait that the scheduler planned at its submission."""

    jobs: BatchJobs
    estimate_s: Seconds
    wait_s: Seconds


class Answers(Struct, frozen=True):
    """A model's predictions for each job: one figure, and the quantiles of `SHARES` (columns)."""

    point_s: Seconds
    quantile_s: NDArray[np.float64]


Progress = Callable[[int], None] | None


def waits_of(jobs: BatchJobs, scheduling: Scheduling, progress: Progress = None) -> Waits:
    """Simulate the queue, and record the planned wait of each job at its submission.

    Under conservative backfilling the planned start is the job's reservation. Other queues are asked for a plan just
    before the submission, so that the plan does not contain other jobs of the same second.
    """
    queue = queue_of(jobs, scheduling)
    if scheduling.backfill == "conservative":
        queue.run(progress)
        return Waits(jobs, queue.promises - jobs.submit_s, queue.starts - jobs.submit_s)
    estimate_s = np.empty(len(jobs))
    for job, submit_s in enumerate(jobs.submit_s.tolist()):
        before_s = float(np.nextafter(submit_s, -np.inf))
        if before_s > queue.now:
            queue.advance(before_s)
        start_s = queue.now + float(queue.waits(jobs.nodes[job], jobs.req_s[job])[0])
        estimate_s[job] = max(0.0, start_s - submit_s)
        if progress and job % _OFTEN == 0:
            progress(job)
    queue.run()
    return Waits(jobs, estimate_s, queue.starts - jobs.submit_s)


def ask(model: WaitModel, waits: Waits, seed: int = 0, progress: Progress = None) -> Answers:
    """Ask a model at each submission, after it has learned the waits of all jobs that started before."""
    jobs = waits.jobs
    shapes = list(map(Shape, jobs.nodes.tolist(), jobs.req_s.tolist(), waits.estimate_s.tolist()))
    start_s = jobs.submit_s + waits.wait_s
    starting: list[int] = np.argsort(start_s, kind="stable").tolist()
    starts, waited = start_s.tolist(), waits.wait_s.tolist()
    tickets: dict[int, dict[str, Figure]] = {}
    point_s, quantile_s = np.empty(len(jobs)), np.empty((len(jobs), len(SHARES)))
    told = 0
    for job, now_s in enumerate(jobs.submit_s.tolist()):
        while told < len(starting) and starts[starting[told]] < now_s:
            other = starting[told]
            model.observe(shapes[other], tickets.pop(other), waited[other])
            told += 1
        wait = model.predict(shapes[job], (seed, model.name, str(job), 0))
        tickets[job] = wait.ticket
        point_s[job] = wait.wait_s
        quantile_s[job] = model.quantiles(shapes[job], SHARES)
        if progress and job % _OFTEN == 0:
            progress(job)
    return Answers(point_s, quantile_s)


def score(name: str, answers: Answers, waits: Waits, counted: NDArray[np.bool_]) -> WaitScore | None:
    """The score over the jobs in `counted`; None if there are none."""
    if not counted.any():
        return None
    wait_s = waits.wait_s[counted]
    error_s = answers.point_s[counted] - wait_s
    absolute_s = float(np.abs(error_s).mean())
    plan_s = float(np.abs(waits.estimate_s[counted] - wait_s).mean())
    mean_s = float(wait_s.mean())
    covered, pinball = {}, {}
    for column, share in enumerate(SHARES):
        over_s = wait_s - answers.quantile_s[counted, column]
        covered[f"{share:g}"] = float((over_s <= 0).mean())
        pinball[f"{share:g}"] = float(np.maximum(share * over_s, (share - 1) * over_s).mean())
    return WaitScore(
        name=name,
        jobs=int(counted.sum()),
        mean_wait_s=mean_s,
        absolute_error_s=absolute_s,
        error_s=float(error_s.mean()),
        to_plan=absolute_s / plan_s if plan_s > 0 else None,
        to_wait=absolute_s / mean_s if mean_s > 0 else None,
        covered=covered,
        pinball_s=pinball,
    )


def those_to_wait(waits: Waits, warm_up_s: float = 0.0) -> NDArray[np.bool_]:
    """Mask of the jobs submitted after the warm-up that could not start at once by the scheduler's plan."""
    return np.asarray((waits.jobs.submit_s >= warm_up_s) & (waits.estimate_s > 0))
