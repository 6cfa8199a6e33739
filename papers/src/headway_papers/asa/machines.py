"""000's two machines, and a simulated queue for each whose waits are as long as Table 2's."""

from __future__ import annotations

from statistics import fmean

import numpy as np
from msgspec import Struct

from headway.kernels.batch.queue import Backfill, BatchQueue, Dependency, Scheduling
from headway.model.batch_log import BatchJobs
from headway.simulation.batch import queue_of
from headway.simulation.lublin import lublin
from headway_papers.asa.published import MONTAGE, TABLE_2

JOBS = 6000  # of others: six to eight weeks
WINDOW = (0.3, 0.7)  # of that time, in which our workflows begin
PROBE_S = 1200.0  # what a job asks for by which waits are measured: about as much as the stages do
_PROBES = 24
_LOADS = (0.1, 1.6)
_STEPS = 10
_LOOK_S = 4 * 3600.0


class Machine(Struct, frozen=True):
    """A machine, and the peak cores of the workflows on it (§4.2, §4.3)."""

    name: str
    nodes: int
    cores_of_node: int
    cores: tuple[int, ...]

    def nodes_for(self, cores: int) -> int:
        """Whole nodes."""
        return cores // self.cores_of_node

    @property
    def wanted_h(self) -> float:
        """How long a job of the most cores waits there, by Table 2."""
        return TABLE_2[MONTAGE, self.cores[-1]].real_h if self.name == "HPC2n" else 16.0


HPC2N = Machine("HPC2n", 602, 28, (28, 56, 112))
UPPMAX = Machine("UPPMAX", 486, 20, (160, 320, 640))
# Everybody has a reservation, and the short and narrow go first where that delays nobody; or all wait their turn.
QUEUES: tuple[Backfill, ...] = ("conservative", "fcfs")
MACHINES = {machine.name: machine for machine in (HPC2N, UPPMAX)}


class Calibrated(Struct, frozen=True, tag=True):
    """The load of one made-up log, and how long jobs of each geometry wait at it."""

    machine: str
    trace: int
    backfill: Backfill
    load: float
    waits_h: dict[int, float]  # by cores, means over the window

    @property
    def key(self) -> tuple[str, int, str]:
        """What it is found by."""
        return self.machine, self.trace, self.backfill


def jobs_of(machine: Machine, trace: int, load: float) -> BatchJobs:
    """Others' jobs. They ask for what they use.

    With requests as people make them, which are too long, jobs end early all the time and a short job of 32 nodes waits
    for about five hours on average, whatever the load: sixteen cannot be had.
    """
    return lublin(machine.nodes, JOBS, load, trace, requests="accurate")


def fresh(
    machine: Machine, trace: int, load: float, backfill: Backfill, dependency: Dependency = "slurm"
) -> BatchQueue:
    """The queue before anything has happened."""
    return queue_of(jobs_of(machine, trace, load), Scheduling(backfill, dependency=dependency))


def window_s(jobs: BatchJobs) -> tuple[float, float]:
    """From when to when workflows begin."""
    last_s = float(jobs.submit_s[-1])
    return WINDOW[0] * last_s, WINDOW[1] * last_s


def waits_h(machine: Machine, trace: int, load: float, backfill: Backfill, cores: tuple[int, ...]) -> dict[int, float]:
    """Mean waits of jobs that come one at a time, and are gone as soon as they have started."""
    queue = fresh(machine, trace, load, backfill)
    found: dict[int, list[float]] = {each: [] for each in cores}
    for at in np.linspace(*window_s(jobs_of(machine, trace, load)), _PROBES).tolist():
        queue.advance(at)
        for each in cores:
            other = queue.clone()
            job = other.submit(machine.nodes_for(each), PROBE_S, 1.0)
            while other.job(job).state == "pending":
                other.advance(other.now + _LOOK_S)
            found[each].append((other.job(job).start - at) / 3600)
    return {each: fmean(waits) for each, waits in found.items()}


def calibrate(machine: Machine, trace: int, backfill: Backfill) -> Calibrated:
    """Halve the range of loads, and take the load whose mean wait is nearest to the wanted one.

    Waits need not rise with every step of the load, since jobs come in another order relative to one another; what is
    matched is the geometry with the most cores, and the others are as they come.
    """
    most = machine.cores[-1:]
    low, high = _LOADS
    tried: dict[float, float] = {}
    for _ in range(_STEPS):
        load = round((low + high) / 2, 4)
        tried[load] = waits_h(machine, trace, load, backfill, most)[most[0]]
        if tried[load] < machine.wanted_h:
            low = load
        else:
            high = load
    load = min(tried, key=lambda each: abs(tried[each] - machine.wanted_h))
    return Calibrated(machine.name, trace, backfill, load, waits_h(machine, trace, load, backfill, machine.cores))
