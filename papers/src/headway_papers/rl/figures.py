"""Sums over the counted runs of courses, and ratios between approaches with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, structs

from headway.studies.paired import Interval
from headway_papers.rl.courses import RunFigures
from headway_papers.rl.units import Done

_RESAMPLES = 2000

Cell = tuple[int, str]  # a world and a pipeline
Cells = Mapping[Cell, RunFigures]  # the sum of their counted runs


class Total(Struct, frozen=True):
    """The counted runs of an approach."""

    approach: str
    figures: RunFigures
    cells: dict[Cell, RunFigures]


def totals(done: Iterable[Done], requests: str, law: str) -> dict[str, Total]:
    """By approach, over all worlds and pipelines."""
    cells: dict[str, dict[Cell, RunFigures]] = {}
    for each in done:
        unit = each.unit
        if (unit.requests, unit.law) == (requests, law):
            cells.setdefault(unit.approach, {})[unit.seed, unit.pipeline] = added(each.counted)
    return {name: Total(name, added(list(own.values())), own) for name, own in cells.items()}


def added(runs: Sequence[RunFigures]) -> RunFigures:
    """The sum; for the use of memory, the mean over tasks."""
    sums = {name: sum(getattr(run, name) for run in runs) for name in RunFigures.__struct_fields__}
    tasks = max(1, sums["tasks"])
    sums["memory_use"] = sum(run.memory_use * run.tasks for run in runs) / tasks
    return RunFigures(**sums)


def ratio(metric: str, one: Cells, other: Cells) -> Interval:
    """The sum of one over the sum of the other, with a bootstrap over worlds and pipelines."""
    both = sorted(cell for cell in one if cell in other)
    over = np.array([getattr(one[cell], metric) for cell in both])
    under = np.array([getattr(other[cell], metric) for cell in both])
    mean = float(over.sum() / under.sum())
    if len(both) < 2:
        return Interval(mean, None, None)
    draw = np.random.Generator(np.random.Philox(key=0))
    drawn = draw.integers(len(both), size=(_RESAMPLES, len(both)))
    low, high = np.percentile(over[drawn].sum(axis=1) / under[drawn].sum(axis=1), [2.5, 97.5])
    return Interval(mean, float(low), float(high))


def by_pipeline(total: Total) -> dict[str, RunFigures]:
    """The figures of each pipeline (Figures 5.3 and 5.4)."""
    found: dict[str, list[RunFigures]] = {}
    for (_, pipeline), figures in total.cells.items():
        found.setdefault(pipeline, []).append(figures)
    return {pipeline: added(each) for pipeline, each in found.items()}


def as_dict(figures: RunFigures) -> dict[str, float]:
    """The figures for JSON."""
    return structs.asdict(figures)
