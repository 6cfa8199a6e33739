"""§4.8 and Table 2: sixty jobs of each size, a minute apart; ASA's predictions beside the actual waits."""

from __future__ import annotations

from statistics import fmean, pstdev

from msgspec import Struct

from headway.kernels.batch.queue import BatchQueue
from headway.planning.requested_time import requested_s
from headway.waiting.asa import Asa
from headway.waiting.base import Shape, Wait
from headway_papers.asa.convergence import nearest
from headway_papers.asa.machines import Machine
from headway_papers.asa.published import WORKFLOWS
from headway_papers.asa.shapes import stages

SUBMISSIONS = 60
APART_S = 60.0
MOMENTS = 4  # times at which this is done; the paper has one
_LATER_S = 2 * 86400.0
EARLY_S = 60.0  # a prediction that is too long by no more than this still counts as a hit


class Accuracy(Struct, frozen=True):
    """A line of Table 2. Hours; means, and the spread of the first two."""

    workflow: str
    cores: int
    real_h: float
    real_spread_h: float
    said_h: float
    said_spread_h: float
    perceived_h: float  # the part of the real wait beyond the predicted one
    hit: float  # share of predictions that are not too long: submitted ahead by them, a job does not start too early
    nearest: float  # share of predictions that are the nearest alternative
    overhead_core_hours: float  # held too early, per submission


def accuracy_of(machine: Machine, queue: BatchQueue, model: Asa, seed: int) -> list[Accuracy]:
    """All numbers of cores, each in a copy of the queue, now and every other day from then on.

    Each begins with what the shared model has learned from the workflows' runs, and learns from its own sixty jobs
    only.
    """
    found = []
    first = queue.now
    for moment in range(MOMENTS):
        while queue.now < first + moment * _LATER_S:
            queue.advance(first + moment * _LATER_S)
        for workflow in WORKFLOWS:
            for cores in machine.cores:
                known = Asa(seed=seed)
                known.restore(model.state())
                found.append(_accuracy(machine, queue.clone(), known, workflow, cores, moment))
    return found


def _accuracy(machine: Machine, queue: BatchQueue, model: Asa, workflow: str, cores: int, moment: int) -> Accuracy:
    """Sixty jobs that end as soon as they have started. A wait is learned when it is over."""
    widest = max(stages(workflow, cores, machine.cores_of_node), key=lambda stage: (stage.nodes, stage.run_s))
    shape = Shape(widest.nodes, requested_s(widest.run_s))
    first = queue.now
    said: dict[int, Wait] = {}
    real_s: dict[int, float] = {}

    def learn_until(at: float) -> None:
        while queue.now < at and len(real_s) < SUBMISSIONS:
            for job in queue.advance(at):
                state = queue.job(job)
                if job in said and job not in real_s and state.state != "pending":
                    real_s[job] = state.start - (first + APART_S * list(said).index(job))
                    model.observe(shape, said[job].ticket, real_s[job])

    for number in range(SUBMISSIONS):
        learn_until(first + APART_S * number)
        wait = model.predict(shape, (model.seed, model.name, f"{workflow}-{cores}-{moment}", number))
        said[queue.submit(shape.nodes, shape.asked_s, 1.0)] = wait
    while len(real_s) < SUBMISSIONS:
        learn_until(queue.now + 24 * 3600.0)
    pairs = [(real_s[job], said[job].wait_s) for job in said]
    return Accuracy(
        workflow=workflow,
        cores=cores,
        real_h=fmean(real for real, _ in pairs) / 3600,
        real_spread_h=pstdev(real for real, _ in pairs) / 3600,
        said_h=fmean(told for _, told in pairs) / 3600,
        said_spread_h=pstdev(told for _, told in pairs) / 3600,
        perceived_h=fmean(max(0.0, real - told) for real, told in pairs) / 3600,
        hit=fmean(told <= real + EARLY_S for real, told in pairs),
        nearest=fmean(nearest(real) == nearest(told) for real, told in pairs),
        overhead_core_hours=fmean(cores * max(0.0, told - real) / 3600 for real, told in pairs),
    )
