"""The whole experiment: what is simulated, on all cores, and everything that came of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from msgspec import Struct

from headway.studies.processes import cores
from headway.studies.study import Progress, Tell
from headway_papers.feedback.entrants import FAMILIES
from headway_papers.feedback.ledger import Ledger
from headway_papers.feedback.units import Done, Unit, carry_out

QUICK, FULL = 8, 100  # workflows a family


class Results(Struct, frozen=True):
    """All of it."""

    workflows: int  # a family
    seed: int
    done: list[Done]
    took_s: float
    full_s: float  # what --full would take here, about

    @property
    def scenarios(self) -> int:
        """How many were simulated."""
        return sum(len(done.rows) for done in self.done)


def run_experiment(
    workflows: int, seed: int, ledger: Ledger, processes: int | None = None, tell: Tell | None = None
) -> Results:
    """Everything that the ledger does not know yet."""
    began = time.monotonic()
    processes = processes or cores()
    units = [Unit(family, number, seed) for number in range(workflows) for family in FAMILIES]
    todo = [unit for unit in units if unit.key not in ledger.found]
    for count, done in enumerate(_found(todo, processes), start=1):
        ledger.add(done)
        if tell:
            left_s = (time.monotonic() - began) / count * (len(todo) - count)
            tell(Progress(count, len(todo), left_s))
    found = [ledger.found[unit.key] for unit in units]
    full_s = sum(done.cpu_s for done in found) / len(found) * FULL * len(FAMILIES) / processes
    return Results(workflows, seed, found, time.monotonic() - began, full_s)


def _found(todo: Sequence[Unit], processes: int) -> Iterator[Done]:
    if processes == 1 or len(todo) < 2:
        yield from map(carry_out, todo)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(todo)), mp_context=context, initializer=_ignore_ctrl_c) as pool:
        try:
            for future in as_completed([pool.submit(carry_out, unit) for unit in todo]):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ignore_ctrl_c() -> None:
    """It is for the one who asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
