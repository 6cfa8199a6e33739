"""What the study runs: the learner alone, then workflows through queues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from headway.studies.study import Tell
from headway.waiting.asa import ALTERNATIVES_S
from headway_papers.asa.convergence import (
    CHANGES,
    ITERATIONS,
    POLICIES,
    Recovery,
    Regret,
    Trial,
    recoveries,
    regrets,
    trial,
    trials,
)
from headway_papers.asa.machines import MACHINES, QUEUES, Calibrated, Calibration, calibrate
from headway_papers.asa.units import Done, Unit, carry_out, strategies
from headway_papers.frame.ledger import Ledger
from headway_papers.frame.runner import Runner

MANY = 1000  # alternatives, where the bound is tried with more of them than ASA has


class Size(Struct, frozen=True):
    """How much to run: logs for each machine and queue, repetitions in each log, signals for Figure 5."""

    traces: int
    repeats: int
    signals: int


QUICK, FULL = Size(2, 4, 20), Size(25, 4, 100)


class Bounded(Struct, frozen=True):
    """Theorem 1, checked after every iteration of every signal of a policy."""

    policy: str
    about: str
    tried: int
    broken: int
    last: Regret  # of the first signal, at its end
    worst: Regret  # where the regret exceeds the bound most, or comes nearest to it


class Convergence(Struct, frozen=True):
    """Figure 5."""

    shown: list[Trial]  # of the first signal
    recoveries: list[Recovery]
    bounds: list[Bounded]


class Results(Struct, frozen=True):
    """Everything that the study found."""

    size: Size
    seed: int
    convergence: Convergence
    calibrated: list[Calibrated]
    done: list[Done]
    took_s: float
    full_s: float  # an estimate for --full


def run_study(
    size: Size, seed: int, path: Path | None = None, processes: int | None = None, tell: Tell | None = None
) -> Results:
    """Run what the ledger at `path` does not hold yet."""
    alone = convergence([seed * 1000 + number for number in range(size.signals)])
    wanted = [
        Calibration(machine, seed * 1000 + number, queue)
        for number in range(size.traces)
        for queue in QUEUES
        for machine in MACHINES
    ]
    total = len(wanted) + sum(len(strategies(each.backfill)) for each in wanted)
    ledger: Ledger[Calibrated | Done] = Ledger(Calibrated | Done, path)
    runner = Runner(ledger, total, processes, tell)
    loads = [found for found in runner.run(wanted, calibrate) if isinstance(found, Calibrated)]
    units = [
        Unit(it.machine, it.trace, it.backfill, it.load, plan, rule, size.repeats)
        for it in loads
        for plan, rule in strategies(it.backfill)
    ]
    done = [found for found in runner.run(units, carry_out) if isinstance(found, Done)]
    bigger = FULL.traces * FULL.repeats / (size.traces * size.repeats)
    full_s = bigger * sum(it.cpu_s for it in done) / runner.processes
    return Results(size, seed, alone, loads, done, runner.spent_s, full_s)


def convergence(seeds: Sequence[int]) -> Convergence:
    """Figure 5 on one signal for each seed; Theorem 1 on whole signals, after each change, and with many
    alternatives."""
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
