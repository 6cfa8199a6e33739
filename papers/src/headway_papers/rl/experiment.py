"""The whole experiment: which units, carried out on all cores, and everything that came of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from msgspec import Struct

from headway.studies.processes import cores
from headway.studies.study import Progress, Tell
from headway_papers.rl.courses import APPROACHES, BANDIT, DEFAULT, LOOP, OURS, Q
from headway_papers.rl.ledger import Ledger
from headway_papers.rl.pipelines import Found, Pipeline, find_pipelines
from headway_papers.rl.units import AS_THESIS, AS_TRACED, Done, Unit, carry_out
from headway_papers.rl.worlds import FRACTIONS

MAIN = (DEFAULT, BANDIT, Q, LOOP, OURS)
VARIANTS = tuple(name for name in APPROACHES if name not in MAIN)


class Asked(Struct, frozen=True):
    """How much of it."""

    worlds: int
    seed: int = 0
    variants: bool = False

    def units(self, pipelines: Sequence[Pipeline]) -> list[Unit]:
        """The longest first, so that all cores are busy to the end."""
        approaches = (*MAIN, *VARIANTS) if self.variants else MAIN
        found = [
            Unit(requests, fractions, pipeline.name, self.seed * 1000 + world, approach, pipeline.measured)
            for world in range(self.worlds)
            for requests in (AS_THESIS, AS_TRACED)
            for fractions in FRACTIONS
            for pipeline in pipelines
            for approach in approaches
            if approach in MAIN or requests == AS_THESIS
        ]
        return sorted(found, key=lambda unit: -APPROACHES[unit.approach].runs)


class Results(Struct, frozen=True):
    """Everything that the experiment found."""

    asked: Asked
    found: Found
    done: list[Done]
    took_s: float

    @property
    def approaches(self) -> list[str]:
        """Those that were tried, in order."""
        tried = {done.unit.approach for done in self.done}
        return [name for name in APPROACHES if name in tried]


def run_experiment(asked: Asked, ledger: Ledger, processes: int | None = None, tell: Tell | None = None) -> Results:
    """Everything that the ledger does not know yet."""
    began = time.monotonic()
    found = find_pipelines()
    wanted = asked.units(found.pipelines)
    todo = [unit for unit in wanted if unit.key not in ledger.found]
    _work(todo, ledger, processes or cores(), tell)
    done = [ledger.found[unit.key] for unit in wanted]
    return Results(asked, found, done, time.monotonic() - began)


def _work(todo: Sequence[Unit], ledger: Ledger, processes: int, tell: Tell | None) -> None:
    began = time.monotonic()
    weights = {unit.key: APPROACHES[unit.approach].runs for unit in todo}
    total, passed = sum(weights.values()), 0

    def note(done: Done) -> None:
        nonlocal passed
        ledger.add(done)
        passed += weights[done.unit.key]
        if tell:
            spent_s = time.monotonic() - began
            tell(Progress(passed, total, spent_s / passed * (total - passed)))

    if processes == 1 or len(todo) < 2:
        for unit in todo:
            note(carry_out(unit))
        return
    # Processes that start anew: one copied from this, with its threads, might hang.
    context = get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(todo)), mp_context=context, initializer=_ignore_ctrl_c) as pool:
        try:
            for future in as_completed([pool.submit(carry_out, unit) for unit in todo]):
                note(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ignore_ctrl_c() -> None:
    """It is for the one who asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
