"""`Unit`: one workflow with all orders, predictors and times to failure."""

from __future__ import annotations

import time

from msgspec import Struct

from headway_papers.feedback.entrants import ENTRANTS, EVERY_PAIR, TTFS, Pair
from headway_papers.feedback.workflows import TASKS, with_estimates, workflow
from headway_papers.fixed_pool.compiled_runs import compiled_in_pool, prepared


class Unit(Struct, frozen=True):
    """What one process simulates at a time."""

    family: str
    number: int
    seed: int = 0
    tasks: int = TASKS


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
    """The results of a unit."""

    unit: Unit
    rows: list[Row]
    cpu_s: float


def carry_out(unit: Unit) -> Done:
    """Simulate every scenario of a workflow."""
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
            result = compiled_in_pool(by_estimate[entrant.estimate], order, entrant.sizer, ttf)
            if result.status != "succeeded":
                raise RuntimeError(f"{unit.family} {unit.number}: {order} with {name} did not finish")
            rows.append(Row(ttf, order, name, result.maq, result.makespan_s, result.attempts))
    return Done(unit, rows, round(time.process_time() - began, 3))
