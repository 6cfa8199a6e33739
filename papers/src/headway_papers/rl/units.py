"""`Unit`: one approach's course through one world."""

from __future__ import annotations

import time
from functools import lru_cache

from msgspec import Struct

from headway_papers.rl.courses import APPROACHES, COUNTED, RunFigures, course
from headway_papers.rl.pipelines import Pipeline, find_pipelines
from headway_papers.rl.worlds import world_of

# How the traces' memory requests are multiplied. The thesis's tasks used 5% of their requests on average, those of the
# traces 18%; with four times the requests they use 5%.
AS_THESIS, AS_TRACED = "as in the thesis", "as in the traces"
REQUESTS = {AS_THESIS: 4.0, AS_TRACED: 1.0}


class Unit(Struct, frozen=True):
    """What one process simulates at a time."""

    requests: str
    law: str
    pipeline: str
    seed: int
    approach: str
    measured: bool = True  # else the pipeline is generated


class Done(Struct, frozen=True):
    """The results of a unit: the runs before the counted ones, and the counted ones."""

    unit: Unit
    training: list[RunFigures]
    counted: list[RunFigures]
    cpu_s: float


def carry_out(unit: Unit) -> Done:
    """Simulate all its runs."""
    began = time.process_time()
    world = world_of(_pipelines()[unit.pipeline], unit.law, unit.seed, REQUESTS[unit.requests])
    runs = course(world, APPROACHES[unit.approach])
    return Done(unit, runs[:-COUNTED], runs[-COUNTED:], time.process_time() - began)


@lru_cache
def _pipelines() -> dict[str, Pipeline]:
    return {pipeline.name: pipeline for pipeline in find_pipelines().pipelines}
