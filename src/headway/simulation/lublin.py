"""The Lublin-Feitelson model: a generated log of rigid jobs for a machine of any size, at any load.

U. Lublin and D. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
JPDC 63(11), 2003. Figures and conventions are those of the authors' program in the Parallel Workloads Archive
(m_lublin99). The model has sizes, run times and arrivals; requested times are our own: `simulation.requested_times`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from headway.model.batch_log import BatchJobs, Seconds, Whole
from headway.model.errors import InputError
from headway.simulation.daily_cycle import DailyCycle
from headway.simulation.requested_times import estimated

Kind = Literal["combined", "mixed", "batch"]
Requests = Literal["estimated", "accurate"]
_REQUESTS = get_args(Requests)

MOST_LOG_RUN = 12.0  # e^12 s: 45 hours
MOST_LOG_GAP = 13.0  # e^13 s: five days
_LEAST_STAGE = 0.7  # width of the first stage, in log2: on a machine of 8 the authors use 0.8 to 1.5
_MOST_SEED = 2**128


class JobClass(Struct, frozen=True):
    """Parameters of one class of jobs, with the names of the authors' program. Logarithms of times are natural."""

    serial_prob: float
    pow2_prob: float  # of all jobs, including the serial ones
    low: float  # log2 of the smallest parallel size
    med_below_high: float  # where the first stage of sizes ends and the second begins
    high_below_machine: float  # log2: how far the largest observed jobs are below the machine's size
    prob: float  # of the first stage
    a1: float  # two gamma distributions of the logarithm of the run time ...
    b1: float
    a2: float
    b2: float
    pa: float  # ... the first is chosen with probability pa * nodes + pb
    pb: float
    aarr: float  # gamma distribution of the logarithm of the gap between arrivals in the rush hours
    barr: float
    anum: float  # of the daily cycle
    bnum: float
    arar: float  # factor from the gap in the rush hours to the gap averaged over a day


# Fitted to a machine of 128: its `med` was 4.5, 5 and 3, its `high` 7, 7 and 5.5.
COMBINED = JobClass(
    serial_prob=0.244, pow2_prob=0.576, low=0.8, med_below_high=2.5, high_below_machine=0.0, prob=0.86,
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, anum=8.1737, bnum=3.9631, arar=1.0225,
)  # fmt: skip
BATCH = JobClass(
    serial_prob=0.2927, pow2_prob=0.6686, low=1.2, med_below_high=2.0, high_below_machine=0.0, prob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, anum=6.1271, bnum=5.2740, arar=1.0519,
)  # fmt: skip
INTERACTIVE = JobClass(
    serial_prob=0.1541, pow2_prob=0.625, low=1.0, med_below_high=2.5, high_below_machine=1.5, prob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, anum=8.9186, bnum=3.6680, arar=0.9797,
)  # fmt: skip

KINDS: dict[Kind, tuple[JobClass, ...]] = {
    "combined": (COMBINED,),
    "mixed": (BATCH, INTERACTIVE),
    "batch": (BATCH,),
}


def lublin(
    machine: int, jobs: int, load: float, seed: int, kind: Kind = "combined", requests: Requests = "estimated"
) -> BatchJobs:
    """Generate `jobs` jobs that offer a load of `load` to a machine of `machine` nodes. Same arguments, same jobs.

    `kind` names a published set of parameters: `combined` was fitted to all jobs of the logs together and is the
    default, since a simulated queue treats all jobs alike; `mixed` is the authors' batch and interactive jobs, each
    with their own sizes, run times and hours; `batch` is the batch jobs alone.

    The first job arrives at midnight. All gaps between arrivals are multiplied by one factor, which makes the load as
    asked, to the nearest whole second of the last arrival. The daily cycle is applied afterwards, so that a day has 24
    hours at every load. Sizes and run times do not depend on the load.
    """
    _check(machine, jobs, load, seed, kind, requests)
    classes = KINDS[kind]
    draws = [np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, n])) for n in range(len(classes) + 1)]
    streams = [_stream(machine, jobs, ours, draw) for ours, draw in zip(classes, draws[1:], strict=True)]
    streams[0].even_s -= streams[0].even_s[0]
    streams = _first(streams, jobs)
    nodes = np.concatenate([stream.nodes for stream in streams])
    run_s = np.concatenate([stream.run_s for stream in streams])

    span_s = _span_s(float(nodes @ run_s) / machine, load) if jobs > 1 else 0
    lasts = [(stream.cycle.even_s(span_s), float(stream.even_s[-1])) for stream in streams if len(stream.even_s)]
    stretch = min((there_s / last_s for there_s, last_s in lasts if last_s), default=0.0)
    submit_s = np.concatenate([stream.cycle.real_s(stretch * stream.even_s) for stream in streams])
    order = np.argsort(submit_s, kind="stable")
    submit_s = np.floor(submit_s[order])
    submit_s[-1] = span_s  # rounding errors could make it a second earlier

    nodes, run_s = nodes[order], run_s[order]
    req_s = run_s.copy() if requests == "accurate" else estimated(run_s, draws[0])
    return BatchJobs(f"lublin-{kind}-{machine}-{load:g}-{seed}", machine, submit_s, nodes, req_s, run_s)


def _check(machine: int, jobs: int, load: float, seed: int, kind: str, requests: str) -> None:
    checks = (
        (machine >= 1, f"a machine of {machine} nodes has no jobs", "give it at least one node"),
        (jobs >= 1, f"{jobs} jobs are no workload", "ask for at least one"),
        (0 < load < math.inf, f"no jobs make a load of {load:g}", "give a share of the machine, such as 0.7"),
        (0 <= seed < _MOST_SEED, f"{seed} is no seed", "give a whole number from 0 up"),
        (kind in KINDS, f"there is no kind {kind!r} of the Lublin model", f"choose from {', '.join(KINDS)}"),
        (requests in _REQUESTS, f"there is no way {requests!r} to ask for time", f"choose from {', '.join(_REQUESTS)}"),
    )
    for right, what, todo in checks:
        if not right:
            raise InputError(what, todo=todo)


class _Stream(Struct):
    """The jobs of one class, in the order of arrival."""

    cycle: DailyCycle
    even_s: Seconds  # arrivals on the even clock of `DailyCycle`
    nodes: Whole
    run_s: Seconds


def _stream(machine: int, jobs: int, ours: JobClass, draw: np.random.Generator) -> _Stream:
    even_s = np.cumsum(_gaps_s(jobs, ours, draw))
    nodes = _nodes(jobs, machine, ours, draw)
    return _Stream(DailyCycle(ours.anum, ours.bnum), even_s, nodes, _run_s(nodes, ours, draw))


def _nodes(count: int, machine: int, ours: JobClass, draw: np.random.Generator) -> Whole:
    """Draw sizes as in the paper: serial, a power of two, or any; their log2 is uniform in two stages.

    The program's parameters are for one machine. Its comments say how to adapt them: `high` is the machine's log2,
    `med` a fixed distance below it. Our additions: on machines of few nodes the first stage does not vanish, and a
    power of two greater than the machine becomes the next smaller one.
    """
    whole = math.log2(machine)
    high = max(whole - ours.high_below_machine, min(whole, 1.0))
    low = min(ours.low, high)
    med = min(max(high - ours.med_below_high, low + _LEAST_STAGE), high)
    sort = draw.random(count)
    first = draw.random(count) < ours.prob
    log_size = draw.uniform(np.where(first, low, med), np.where(first, med, high))
    power = np.minimum(np.floor(log_size + 0.5), machine.bit_length() - 1)
    log_size = np.where(sort < ours.serial_prob + ours.pow2_prob, power, log_size)
    log_size[sort < ours.serial_prob] = 0.0
    return np.minimum(np.floor(np.exp2(log_size) + 0.5).astype(np.int64), machine)


def _run_s(nodes: Whole, ours: JobClass, draw: np.random.Generator) -> Seconds:
    """Draw run times as in the paper: their logarithm is hyper-gamma, and large jobs tend to be long."""
    share = np.clip(ours.pa * nodes + ours.pb, 0.0, 1.0)

    def sample(jobs: Whole) -> Seconds:
        first = draw.random(len(jobs)) < share[jobs]
        return draw.gamma(np.where(first, ours.a1, ours.a2), np.where(first, ours.b1, ours.b2))

    return np.floor(np.exp(_at_most(MOST_LOG_RUN, sample, len(nodes))))


def _gaps_s(count: int, ours: JobClass, draw: np.random.Generator) -> Seconds:
    """Draw gaps between arrivals on the even clock, as in the paper: their logarithm is gamma."""
    return np.exp(_at_most(MOST_LOG_GAP, lambda jobs: draw.gamma(ours.aarr * ours.arar, ours.barr, len(jobs)), count))


def _at_most(most: float, sample: Callable[[Whole], Seconds], count: int) -> Seconds:
    """Draw samples; those above `most` are drawn again, as in the authors' program."""
    values = sample(np.arange(count))
    while (over := np.flatnonzero(values > most)).size:
        values[over] = sample(over)
    return values


def _first(streams: list[_Stream], jobs: int) -> list[_Stream]:
    """The first `jobs` jobs of several streams by the real clock."""
    real_s = np.concatenate([stream.cycle.real_s(stream.even_s) for stream in streams])
    whose = np.repeat(np.arange(len(streams)), [len(stream.even_s) for stream in streams])
    counts = np.bincount(whose[np.argsort(real_s, kind="stable")[:jobs]], minlength=len(streams))
    return [
        _Stream(stream.cycle, stream.even_s[:count], stream.nodes[:count], stream.run_s[:count])
        for stream, count in zip(streams, counts, strict=True)
    ]


def _span_s(work_s: float, load: float) -> int:
    """The whole number of seconds in which `work_s` of the whole machine is nearest to a load of `load`."""
    below = max(math.floor(work_s / load), 1)
    return min(below, below + 1, key=lambda span_s: abs(work_s / span_s - load))
