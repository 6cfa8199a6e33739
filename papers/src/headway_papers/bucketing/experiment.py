"""The whole experiment: what is replayed in which settings, and everything that came of it."""

from __future__ import annotations

import time

from msgspec import Struct

from headway_papers.bucketing.cells import NEAREST, PLAIN, Cell, Setting, Told, run_cells, settings_of
from headway_papers.bucketing.own_runs import OwnRun, own_runs
from headway_papers.bucketing.times import Timing, table_i
from headway_papers.bucketing.verdicts import Verdict, verdicts_on
from headway_papers.bucketing.workflows import GENERATED, LOG, Found

LAGS = (0, 20, 100)
_AT_ONCE = (PLAIN, NEAREST)
_QUICK = (*(Setting(lag, "end") for lag in LAGS), NEAREST)
_FULL = (*(Setting(lag, "end") for lag in LAGS), *(Setting(lag, "observed") for lag in LAGS), NEAREST)


class Results(Struct, frozen=True):
    """Everything that the experiment found."""

    seeds: list[int]
    full: bool
    missing: list[str]
    cells: list[Cell]
    own_runs: list[OwnRun]
    times: list[Timing]
    verdicts: list[Verdict]
    took_s: float

    @property
    def counted(self) -> str:
        """The kind of workflows that means are taken over: the paper's logs, without them the generated ones."""
        return LOG if any(cell.kind == LOG for cell in self.cells) else GENERATED

    def workflows(self, kind: str) -> list[str]:
        """The names of a kind, in order."""
        return list(dict.fromkeys(cell.workflow for cell in self.cells if cell.kind == kind))

    def settings(self, kind: str) -> list[Setting]:
        """In which workflows of a kind were replayed."""
        return sorted({cell.setting for cell in self.cells if cell.kind == kind}, key=lambda it: (it.ttf, it.lag))


def run_experiment(
    found: Found, seeds: list[int], *, full: bool, told: Told | None = None, processes: int | None = None
) -> Results:
    """Replay everything. A quick one leaves out some settings, a full one none."""
    began = time.monotonic()
    plan = [
        (workflow, settings_of(workflow, _FULL if full else _QUICK if workflow.kind == LOG else _AT_ONCE))
        for workflow in found.workflows
    ]
    cells = run_cells(plan, seeds, found.figure_5, told, processes)
    runs = own_runs(found.folder, found.figure_5) if found.folder and found.figure_5 else []
    times = table_i()
    return Results(seeds, full, found.missing, cells, runs, times, verdicts_on(cells), time.monotonic() - began)
