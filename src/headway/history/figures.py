"""A category's observations, summarised in a few figures."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from msgspec import Struct

from headway.model.outcome import Ending


class Spread(Struct, frozen=True):
    """Median and maximum of several values."""

    median: float
    most: float


class CategoryFigures(Struct, frozen=True):
    """How many attempts of a category were observed, how many failed, and what the successful ones used."""

    site: str
    workflow: str
    category: str
    observations: int
    failures: int
    newest_at: float
    memory_bytes: Spread | None
    run_s: Spread | None


Seen = tuple[str, float, float, float | None]  # ending, started, ended, peak of memory


def figures_of(site: str, workflow: str, category: str, seen: Iterable[Seen]) -> CategoryFigures:
    """Summarise a category's observations; there must be at least one."""
    rows = list(seen)
    successes = [row for row in rows if row[0] == Ending.SUCCESS]
    return CategoryFigures(
        site,
        workflow,
        category,
        observations=len(rows),
        failures=len(rows) - len(successes),
        newest_at=max(row[2] for row in rows),
        memory_bytes=_spread([row[3] for row in successes if row[3] is not None]),
        run_s=_spread([max(0.0, row[2] - row[1]) for row in successes]),
    )


def _spread(values: list[float]) -> Spread | None:
    return Spread(median(values), max(values)) if values else None
