"""How well models of queue waits would have done: asked at every submission of a log, told at every start."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.kernels.batch.queue import Scheduling
from headway.model.batch_log import BatchJobs, Seconds
from headway.model.records import Figure
from headway.model.wait_score import WaitScore
from headway.simulation.batch import queue_of
from headway.waiting.base import Shape, WaitModel

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of the quantiles that are asked for
_OFTEN = 1000  # jobs after which progress is told


class Waits(Struct, frozen=True):
    """How long each job of a log would have waited, and what the scheduler's plan said when it came."""

    jobs: BatchJobs
    estimate_s: Seconds
    wait_s: Seconds


class Answers(Struct, frozen=True):
    """What a model said of each job: one figure, and a quantile a share (columns)."""

    point_s: Seconds
    quantile_s: NDArray[np.float64]


Progress = Callable[[int], None] | None


def waits_of(jobs: BatchJobs, scheduling: Scheduling, progress: Progress = None) -> Waits:
    """Let the queue work through the jobs, and note what it plans for each when it comes.

    Under conservative backfilling that is the reservation which each job gets. Other queues are asked how they stand
    just before the moment of submission: a job does not see others that come in the same second.
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
    """Ask at each job's submission, after telling of every job that started before it."""
    jobs = waits.jobs
    shapes = [
        Shape(nodes, asked_s, estimate_s)
        for nodes, asked_s, estimate_s in zip(
            jobs.nodes.tolist(), jobs.req_s.tolist(), waits.estimate_s.tolist(), strict=True
        )
    ]
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
    """Of the jobs that count; nothing if there are none."""
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
    """The jobs that came after the warm-up and that the plan did not let start at once."""
    return np.asarray((waits.jobs.submit_s >= warm_up_s) & (waits.estimate_s > 0))


def scores(models: Iterable[WaitModel], waits: Waits, warm_up_s: float = 0.0, seed: int = 0) -> list[WaitScore]:
    """Of all models, on those jobs; none if there are none."""
    counted = those_to_wait(waits, warm_up_s)
    found = (score(model.name, ask(model, waits, seed), waits, counted) for model in models)
    return [each for each in found if each is not None]
