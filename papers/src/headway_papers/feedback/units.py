"""`Unit`: one workflow under all orders, predictors and times to failure; it is simulated in one go."""

from __future__ import annotations

import time

from msgspec import Struct

from headway_papers.feedback.entrants import ENTRANTS, EVERY_PAIR, TTFS, Pair
from headway_papers.feedback.workflows import TASKS, with_estimates, workflow
from headway_papers.fixed_pool.compiled_runs import prepared, twin_in_pool


class Unit(Struct, frozen=True):
    """What is simulated in one go."""

    family: str
    number: int
    seed: int = 0
    tasks: int = TASKS

    @property
    def key(self) -> tuple[object, ...]:
        """What its results are found by."""
        return self.family, self.number, self.seed, self.tasks


class Row(Struct, frozen=True, array_like=True, gc=False):
    """A scenario: memory allocation quality (equation 4) and execution time, and how many attempts it took."""

    ttf: float
    order: str
    entrant: str
    maq: float
    makespan_s: float
    attempts: int

    @property
    def pair(self) -> Pair:
        """Order and predictor."""
        return self.order, self.entrant


class Done(Struct, frozen=True):
    """What came of a unit."""

    unit: Unit
    rows: list[Row]
    cpu_s: float


def carry_out(unit: Unit) -> Done:
    """Every scenario of a workflow, by the compiled twin."""
    began = time.process_time()
    made = workflow(unit.family, unit.number, unit.seed, unit.tasks)
    by_estimate = {
        estimate: prepared(with_estimates(made, estimate))
        for estimate in dict.fromkeys(entrant.estimate for entrant in ENTRANTS.values())
    }
    rows = []
    for order, name in EVERY_PAIR:
        entrant = ENTRANTS[name]
        for ttf in TTFS:
            result = twin_in_pool(by_estimate[entrant.estimate], order, entrant.sizer, ttf)
            if result.status != "succeeded":
                raise RuntimeError(f"{unit.family} {unit.number}: {order} with {name} did not finish")
            rows.append(Row(ttf, order, name, result.maq, result.makespan_s, result.attempts))
    return Done(unit, rows, round(time.process_time() - began, 3))
