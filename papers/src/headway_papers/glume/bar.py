"""Is ours ahead? Twelve cells, seven rivals: the verdicts that follow from the rows, whatever they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from statistics import fmean

from msgspec import Struct

from headway.studies.paired import Interval, Pair, log_ratio, pairs_of, places_of
from headway.studies.runs import Row
from headway_papers.glume.workflows import DURATIONS, LOGS, Workflow

OURS = "headway"
RIVALS = ("one-job", "big-job", "one-job-per-task", "level-by-level", "per-stage", "zhang", "glume")
REQUESTS = ("accurate", "real")
MOST = log(1.05)


class Cell(Struct, frozen=True, order=True):
    """A log, what its users are taken to have asked for, and how much work a workflow is."""

    log: str
    requests: str
    duration: str

    def __str__(self) -> str:
        return f"{self.log}, {self.requests} requests, {self.duration}"


CELLS = tuple(
    Cell(name, requests, duration) for name in LOGS for requests in REQUESTS for duration in DURATIONS.values()
)


class Standing(Struct, frozen=True):
    """Ours against one rival: the mean logarithm of makespan ratios in each cell, and over all cells."""

    rival: str
    cells: dict[Cell, Interval]
    overall: Interval
    pairs: int

    @property
    def worst(self) -> Cell:
        """Where ours is worst."""
        return max(self.cells, key=lambda cell: self.cells[cell].mean)

    @property
    def passed(self) -> bool:
        """Nowhere more than 5% behind, and ahead over all."""
        return self.cells[self.worst].mean <= MOST and self.overall.mean < 0


class Bar(Struct, frozen=True):
    """All standings, and what could not be judged."""

    standings: list[Standing]
    skipped: list[str]  # rivals without rows

    @property
    def complete(self) -> bool:
        """Whether every cell of every rival was judged."""
        return not self.skipped and all(len(standing.cells) == len(CELLS) for standing in self.standings)

    @property
    def passed(self) -> bool:
        """Of what was judged, everything."""
        return bool(self.standings) and all(standing.passed for standing in self.standings)


def cell_of(row: Row, logs: Mapping[str, str], workflows: Mapping[str, Workflow]) -> Cell:
    """Where a row belongs; `logs` are names by trace."""
    return Cell(logs[row.trace], row.requests, workflows[row.workflow].duration)


def bar_of(rows: Sequence[Row], logs: Mapping[str, str], workflows: Mapping[str, Workflow]) -> Bar:
    """Ours against each rival of which there are rows."""
    places = places_of(rows)
    standings, skipped = [], []
    for rival in RIVALS:
        by_cell: dict[Cell, list[Pair]] = {}
        for pair in pairs_of(places, OURS, rival):
            by_cell.setdefault(cell_of(pair.row, logs, workflows), []).append(pair)
        if by_cell:
            cells = {cell: log_ratio(by_cell[cell]) for cell in CELLS if cell in by_cell}
            pairs = [pair for cell in cells for pair in by_cell[cell]]
            # Over all: every cell counts the same, however many pairs it has.
            overall = log_ratio(pairs)
            shift = fmean(found.mean for found in cells.values()) - overall.mean
            standings.append(Standing(rival, cells, _moved(overall, shift), len(pairs)))
        else:
            skipped.append(rival)
    return Bar(standings, skipped)


def _moved(found: Interval, by: float) -> Interval:
    low, high = (None if end is None else end + by for end in (found.low, found.high))
    return Interval(found.mean + by, low, high)
