"""§4.8 and Table 2: each geometry sixty times, a minute apart, what ASA says beside how long it was."""

from __future__ import annotations

from statistics import fmean, pstdev

from msgspec import Struct

from headway.kernels.batch.queue import BatchQueue
from headway.planning.requested_time import requested_s
from headway.waiting.asa import Asa
from headway.waiting.base import Shape, Wait
from headway_papers.asa.machines import Machine
from headway_papers.asa.published import WORKFLOWS
from headway_papers.asa.shapes import stages
from headway_papers.asa.signal import nearest

SUBMISSIONS = 60
APART_S = 60.0
MOMENTS = 4  # at which this is done; the paper has one
_LATER_S = 2 * 86400.0
EARLY_S = 60.0  # an allocation that comes no more than that too soon is no miss


class Accuracy(Struct, frozen=True):
    """A line of Table 2. Hours; means, and the spread of the first two."""

    workflow: str
    cores: int
    real_h: float
    real_spread_h: float
    said_h: float
    said_spread_h: float
    perceived_h: float  # of the real wait, what is beyond the predicted one
    hit: float  # share that was not predicted too long: whoever submits that much ahead is not given nodes too early
    nearest: float  # share for which no alternative would have been nearer
    overhead_core_hours: float  # for which nodes would be held too early, a submission


def accuracy_of(machine: Machine, queue: BatchQueue, model: Asa, seed: int) -> list[Accuracy]:
    """All geometries, each in a copy of the queue, now and every other day from then on.

    Each begins with what the workflows' runs have taught the one model that they share, and goes on learning from its
    own sixty: another geometry's, which wait at the same time in another copy, are not known to it.
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
    """Jobs are gone as soon as they have started. A job that waits for long teaches nothing until then."""
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
