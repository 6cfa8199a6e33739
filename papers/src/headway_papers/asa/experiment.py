"""The whole experiment: the learner alone, then workflows through queues, and everything that came of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import numpy as np
from msgspec import Struct

from headway.kernels.batch.queue import Backfill
from headway.studies.processes import cores
from headway.studies.study import Progress, Tell
from headway.waiting.asa import ALTERNATIVES_S
from headway_papers.asa.convergence import POLICIES, Recovery, Regret, Trial, recoveries, regrets, trial, trials
from headway_papers.asa.ledger import Found, Ledger
from headway_papers.asa.machines import MACHINES, QUEUES, Calibrated, calibrate
from headway_papers.asa.signal import CHANGES, ITERATIONS
from headway_papers.asa.units import Done, Unit, carry_out, strategies

MANY = 1000  # alternatives, where the bound is tried with more of them


class Size(Struct, frozen=True):
    """How much of it: made-up logs a machine and discipline, times around in each, signals for Figure 5."""

    traces: int
    repeats: int
    signals: int


QUICK, FULL = Size(2, 4, 20), Size(25, 4, 100)


class Bounded(Struct, frozen=True):
    """Theorem 1 tried after every iteration of every signal of a policy."""

    policy: str
    about: str
    tried: int
    broken: int
    last: Regret  # of the first signal, at its end
    worst: Regret  # where the regret is furthest beyond the bound, or nearest to it


class Convergence(Struct, frozen=True):
    """Figure 5."""

    shown: list[Trial]  # of the first signal
    recoveries: list[Recovery]
    bounds: list[Bounded]


class Results(Struct, frozen=True):
    """All of it."""

    size: Size
    seed: int
    convergence: Convergence
    calibrated: list[Calibrated]
    done: list[Done]
    took_s: float
    full_s: float  # what --full would take, about


def run_experiment(
    size: Size, seed: int, ledger: Ledger, processes: int | None = None, tell: Tell | None = None
) -> Results:
    """Everything that the ledger does not know yet."""
    began = time.monotonic()
    alone = convergence([seed * 1000 + number for number in range(size.signals)])
    wanted = [
        (machine, seed * 1000 + number, queue)
        for number in range(size.traces)
        for queue in QUEUES
        for machine in MACHINES
    ]
    total = len(wanted) + sum(len(strategies(queue)) for _, _, queue in wanted)
    counted = _Count(total, tell)
    loads = [found for found in _work(wanted, ledger, processes, counted) if isinstance(found, Calibrated)]
    units = [
        Unit(it.machine, it.trace, it.backfill, it.load, plan, rule, size.repeats)
        for it in loads
        for plan, rule in strategies(it.backfill)
    ]
    done = [found for found in _work(units, ledger, processes, counted) if isinstance(found, Done)]
    took_s = time.monotonic() - began
    bigger = FULL.traces * FULL.repeats / (size.traces * size.repeats)
    full_s = bigger * sum(it.cpu_s for it in done) / (processes or cores())
    return Results(size, seed, alone, loads, done, took_s, full_s)


class _Count:
    """How many are done."""

    def __init__(self, total: int, tell: Tell | None) -> None:
        self._total, self._tell, self._done, self._began = total, tell, 0, time.monotonic()

    def one_more(self) -> None:
        self._done += 1
        if self._tell:
            spent_s = time.monotonic() - self._began
            self._tell(Progress(self._done, self._total, spent_s / self._done * (self._total - self._done)))


Wanted = tuple[str, int, Backfill] | Unit


def _work(wanted: Sequence[Wanted], ledger: Ledger, processes: int | None, counted: _Count) -> list[Found]:
    """What is known, and what is found by all cores, in order."""
    keys = [it.key if isinstance(it, Unit) else it for it in wanted]
    todo = [it for it, key in zip(wanted, keys, strict=True) if key not in ledger.found]
    for _ in range(len(wanted) - len(todo)):
        counted.one_more()
    for found in _found(todo, processes or cores()):
        ledger.add(found)
        counted.one_more()
    return [ledger.found[key] for key in keys]


def _found(todo: Sequence[Wanted], processes: int) -> Iterator[Found]:
    if processes == 1 or len(todo) < 2:
        yield from map(_one, todo)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(todo)), mp_context=context, initializer=_ignore_ctrl_c) as pool:
        try:
            for future in as_completed([pool.submit(_one, it) for it in todo]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ignore_ctrl_c() -> None:
    """It is for the one who asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(wanted: Wanted) -> Found:
    if isinstance(wanted, Unit):
        return carry_out(wanted)
    machine, trace, queue = wanted
    return calibrate(MACHINES[machine], trace, queue)


# --- the learner alone ---


def convergence(seeds: Sequence[int]) -> Convergence:
    """Figure 5 on so many signals, and Theorem 1 tried on them, after each change, and with many alternatives."""
    found = trials(seeds)
    bounds = []
    many_s = np.linspace(ALTERNATIVES_S[0], ALTERNATIVES_S[-1], MANY).tolist()
    steady_s = [ALTERNATIVES_S[-1] / 2] * ITERATIONS
    ends = [*CHANGES[1:], ITERATIONS]
    for policy in POLICIES:
        own = [each for each in found if each.policy == policy]
        bounds.append(_bounded(f"{len(own)} signals, whole", [regrets(each) for each in own]))
        parts = [regrets(each, begin, end) for each in own for begin, end in zip(CHANGES, ends, strict=True)]
        bounds.append(_bounded("after each change", parts))
        many = [regrets(trial(policy, steady_s, seed, many_s)) for seed in seeds[:3]]
        bounds.append(_bounded(f"one wait, {MANY:,} alternatives", many))
    shown = [each for each in found if each.seed == seeds[0]]
    return Convergence(shown, [it for each in found for it in recoveries(each)], bounds)


def _bounded(about: str, found: Sequence[list[Regret]]) -> Bounded:
    every = [regret for each in found for regret in each]
    broken = sum(not regret.holds for regret in every)
    worst = max(every, key=lambda regret: regret.regret - regret.bound)
    return Bounded(worst.policy, about, len(every), broken, found[0][-1], worst)
