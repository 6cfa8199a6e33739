"""Is the plan `headway` ahead of its rivals in twelve cells?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from statistics import fmean

from msgspec import Struct

from headway.studies.paired import Interval, Pair, log_ratio, pairs_of, places_of
from headway.studies.runs import Row
from headway_papers.frame.report import Verdict
from headway_papers.glume.workflows import DURATIONS, LOGS, Workflow

OURS = "headway"
RIVALS = ("one-job", "big-job", "one-job-per-task", "level-by-level", "per-stage", "zhang", "glume", "asa")
REQUESTS = ("accurate", "real")
MOST = log(1.05)


class Cell(Struct, frozen=True, order=True):
    """A log, the requests of its users (accurate or real), and the work of a workflow."""

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
        """The cell in which ours is worst."""
        return max(self.cells, key=lambda cell: self.cells[cell].mean)

    @property
    def passed(self) -> bool:
        """Whether ours is nowhere more than 5% behind, and ahead over all cells."""
        return self.cells[self.worst].mean <= MOST and self.overall.mean < 0


class Goal(Struct, frozen=True):
    """All standings, and the rivals that could not be judged."""

    standings: list[Standing]
    skipped: list[str]  # rivals without rows

    @property
    def complete(self) -> bool:
        """Whether every cell of every rival was judged."""
        return not self.skipped and all(len(standing.cells) == len(CELLS) for standing in self.standings)

    @property
    def passed(self) -> bool:
        """Whether everything that was judged passed."""
        return bool(self.standings) and all(standing.passed for standing in self.standings)


def verdicts_of(goal: Goal) -> Iterator[Verdict]:
    """Two for each rival: over all cells, and in the worst one."""
    for it in goal.standings:
        about = f"clean: change of the makespan, {OURS} instead of {it.rival}"
        missing = len(CELLS) - len(it.cells)
        detail = percent(it.overall) + (f"; {missing} cells without runs" if missing else "")
        yield Verdict(f"{about}, over all cells", exp(it.overall.mean) - 1, 0.0, at_most=True, detail=detail)
        worst = it.cells[it.worst]
        detail = f"{percent(worst)} in {it.worst}"
        yield Verdict(f"{about}, in the worst cell", exp(worst.mean) - 1, exp(MOST) - 1, at_most=True, detail=detail)


def percent(found: Interval) -> str:
    """A mean logarithm of ratios as a percentage, with its interval."""
    words = f"{100 * (exp(found.mean) - 1):+.1f}%"
    if found.low is None or found.high is None:
        return words
    return f"{words} ({100 * (exp(found.low) - 1):+.1f} to {100 * (exp(found.high) - 1):+.1f})"


def cell_of(row: Row, logs: Mapping[str, str], workflows: Mapping[str, Workflow]) -> Cell:
    """The cell of a row; `logs` are names by trace."""
    return Cell(logs[row.trace], row.requests, workflows[row.workflow].duration)


def goal_of(rows: Sequence[Row], logs: Mapping[str, str], workflows: Mapping[str, Workflow]) -> Goal:
    """Ours against each rival that has rows."""
    places = places_of(rows)
    standings, skipped = [], []
    for rival in RIVALS:
        by_cell: dict[Cell, list[Pair]] = {}
        for pair in pairs_of(places, OURS, rival):
            by_cell.setdefault(cell_of(pair.row, logs, workflows), []).append(pair)
        if by_cell:
            cells = {cell: log_ratio(by_cell[cell]) for cell in CELLS if cell in by_cell}
            pairs = [pair for cell in cells for pair in by_cell[cell]]
            # Over all cells: each counts the same, however many pairs it has.
            overall = log_ratio(pairs)
            shift = fmean(found.mean for found in cells.values()) - overall.mean
            standings.append(Standing(rival, cells, _moved(overall, shift), len(pairs)))
        else:
            skipped.append(rival)
    return Goal(standings, skipped)


def _moved(found: Interval, by: float) -> Interval:
    low, high = (None if end is None else end + by for end in (found.low, found.high))
    return Interval(found.mean + by, low, high)
