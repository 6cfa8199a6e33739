"""What a run held, beside what the workflow's own requests or whole nodes would have held."""

from __future__ import annotations

from collections import defaultdict

from headway.model.outcome import Ending
from headway.report.run.summary import RunSummary
from headway.report.run_page.collecting import ENDINGS, Collector
from headway.report.run_page.data import Tile
from headway.report.words import held, share

_SUCCESS = ENDINGS.index("success")
_TOO_SMALL = frozenset(ENDINGS.index(str(ending)) for ending in Ending if ending.exhausted)
_MB = 1e6


def saved_tiles(collector: Collector, now: float) -> list[Tile]:
    """What was saved, or not, as figures in large print."""
    tiles = []
    for resource, name in (("memory_bytes", "memory"), ("cores", "core time")):
        given, asked = against_requests(collector, resource)
        if asked and round(given / asked, 2) != 1:
            note = f"{held(resource, given)} instead of {held(resource, asked)}"
            tiles.append(_tile(given / asked, f"less {name} than the workflow asks for", note))
    run = collector.run
    held_core_hours, whole = run.jobs.held_core_hours(now) if run.batch else 0.0, whole_node_hours(run, now)
    if held_core_hours and whole and round(held_core_hours / whole, 2) != 1:
        note = f"{held_core_hours:.3g} instead of {whole:.3g}"
        tiles.append(_tile(held_core_hours / whole, "fewer core-hours than if its jobs held whole nodes", note))
    return tiles


def _tile(part: float, saved: str, note: str) -> Tile:
    """A figure for what was saved; of what was not, `less` or `fewer` becomes `more`."""
    return Tile(share(abs(1 - part)), saved if part < 1 else f"more {saved.partition(' ')[2]}", note)


def against_requests(collector: Collector, resource: str) -> tuple[float, float]:
    """The amount times seconds that tasks were given, in all their attempts, and that of one attempt as they request.

    Only tasks count that request an amount and have succeeded, with those of their attempts that ran out of something:
    other failures would have been the same.
    """
    columns = collector.attempts
    amounts = columns.cores if resource == "cores" else [_MB * amount for amount in columns.given]
    given: defaultdict[int, float] = defaultdict(float)
    asked: dict[int, float] = {}
    for number, (task, start, end) in enumerate(zip(columns.task, columns.start, columns.end, strict=True)):
        request = collector.asked[task].get(resource)
        if request and end is not None and columns.ending[number] in {_SUCCESS, *_TOO_SMALL}:
            given[task] += amounts[number] * (end - start)
            if columns.ending[number] == _SUCCESS:
                asked[task] = request * (end - start)
    return sum(given[task] for task in asked), sum(asked.values())


def whole_node_hours(run: RunSummary, now: float) -> float:
    """The core-hours that the run's jobs would have held, had each had its nodes for itself."""
    return sum(job.held_node_s(now) for job in run.jobs.known.values()) * run.limits.cores / 3600
