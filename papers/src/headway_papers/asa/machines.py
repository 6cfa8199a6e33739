"""The two machines of Souza et al. 2020, and a simulated queue for each with waits as long as in Table 2."""

from __future__ import annotations

from statistics import fmean

import numpy as np
from msgspec import Struct

from headway.kernels.batch.queue import Backfill, BatchQueue, Dependency, Scheduling
from headway.model.batch_log import BatchJobs
from headway.simulation.batch import queue_of
from headway.simulation.lublin import lublin
from headway_papers.asa.published import MONTAGE, TABLE_2

JOBS = 6000  # of other users: six to eight weeks
WINDOW = (0.3, 0.7)  # the part of that time in which our workflows begin
PROBE_S = 1200.0  # the requested time of the jobs by which waits are measured: about that of a stage
_PROBES = 24
_LOADS = (0.1, 1.6)
_STEPS = 10
_LOOK_S = 4 * 3600.0


class Machine(Struct, frozen=True):
    """A machine, and the numbers of cores of the workflows on it (§4.2, §4.3)."""

    name: str
    nodes: int
    cores_of_node: int
    cores: tuple[int, ...]

    def nodes_for(self, cores: int) -> int:
        """The number of whole nodes with that many cores."""
        return cores // self.cores_of_node

    @property
    def wanted_h(self) -> float:
        """Hours that a job with the most cores waits there, by Table 2."""
        return TABLE_2[MONTAGE, self.cores[-1]].real_h if self.name == "HPC2n" else 16.0


HPC2N = Machine("HPC2n", 602, 28, (28, 56, 112))
UPPMAX = Machine("UPPMAX", 486, 20, (160, 320, 640))
# conservative: a job may overtake others if it delays none of them. fcfs: no job overtakes another.
QUEUES: tuple[Backfill, ...] = ("conservative", "fcfs")
MACHINES = {machine.name: machine for machine in (HPC2N, UPPMAX)}


class Calibration(Struct, frozen=True):
    """A generated log whose load is to be found."""

    machine: str
    trace: int
    backfill: Backfill


class Calibrated(Struct, frozen=True, tag=True):
    """The load of one generated log, and how long jobs of each number of cores wait at it."""

    machine: str
    trace: int
    backfill: Backfill
    load: float
    waits_h: dict[int, float]  # by cores, means over the window

    @property
    def unit(self) -> Calibration:
        """What was asked for."""
        return Calibration(self.machine, self.trace, self.backfill)


def jobs_of(machine: Machine, trace: int, load: float) -> BatchJobs:
    """Other users' jobs, which request the time that they use.

    With the requests that people make, which are too long, jobs end early so often that a short job of 32 nodes waits
    for about five hours on average at any load: the paper's sixteen hours cannot be reached.
    """
    return lublin(machine.nodes, JOBS, load, trace, requests="accurate")


def fresh(
    machine: Machine, trace: int, load: float, backfill: Backfill, dependency: Dependency = "slurm"
) -> BatchQueue:
    """The queue before its first job."""
    return queue_of(jobs_of(machine, trace, load), Scheduling(backfill, dependency=dependency))


def window_s(jobs: BatchJobs) -> tuple[float, float]:
    """When the first workflow begins, and the last."""
    last_s = float(jobs.submit_s[-1])
    return WINDOW[0] * last_s, WINDOW[1] * last_s


def waits_h(machine: Machine, trace: int, load: float, backfill: Backfill, cores: tuple[int, ...]) -> dict[int, float]:
    """Mean waits, by cores, of jobs that are submitted one at a time and end as soon as they have started."""
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


def calibrate(wanted: Calibration) -> Calibrated:
    """Find the load, by bisection, at which jobs with the most cores wait about as long as in Table 2.

    Waits need not rise with every step of the load, so the best load that was tried is taken. Jobs with fewer cores
    wait as long as they happen to at that load.
    """
    machine, trace, backfill = MACHINES[wanted.machine], wanted.trace, wanted.backfill
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
