"""What the study replays in which settings, and its results."""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import Struct

from headway.studies.study import Tell
from headway_papers.bucketing.cells import NEAREST, PLAIN, Cell, Setting, run_cells, settings_of
from headway_papers.bucketing.own_runs import OwnRun, own_runs
from headway_papers.bucketing.times import Timing, table_i
from headway_papers.bucketing.workflows import GENERATED, LOG, Found

LAGS = (0, 20, 100)
_GENERATED_QUICK = (PLAIN, NEAREST)
_QUICK = (*(Setting(lag, "end") for lag in LAGS), NEAREST)
_FULL = (*(Setting(lag, "end") for lag in LAGS), *(Setting(lag, "observed") for lag in LAGS), NEAREST)


class Results(Struct, frozen=True):
    """Everything that the study found."""

    seeds: list[int]
    full: bool
    failures: float  # share of attempts that ours may let fail; 1: any
    missing: list[str]
    cells: list[Cell]
    own_runs: list[OwnRun]
    times: list[Timing]
    took_s: float

    @property
    def counted(self) -> str:
        """The kind of workflows that means are taken over: the paper's logs, or the generated ones without them."""
        return LOG if any(cell.kind == LOG for cell in self.cells) else GENERATED

    def workflows(self, kind: str) -> list[str]:
        """The names of a kind, in order."""
        return list(dict.fromkeys(cell.workflow for cell in self.cells if cell.kind == kind))

    def settings(self, kind: str) -> list[Setting]:
        """The settings in which workflows of a kind were replayed."""
        return sorted({cell.setting for cell in self.cells if cell.kind == kind}, key=lambda it: (it.ttf, it.lag))

    def by_name(self, kind: str, setting: Setting) -> dict[tuple[str, str], Cell]:
        """The cells of a kind and a setting, by workflow and allocator."""
        found = [cell for cell in self.cells if (cell.kind, cell.setting) == (kind, setting)]
        return {(cell.workflow, cell.allocator): cell for cell in found}


def run_study(
    found: Found,
    seeds: list[int],
    *,
    full: bool,
    failures: float = 1.0,
    path: Path | None = None,
    processes: int | None = None,
    tell: Tell | None = None,
) -> Results:
    """Replay everything that the ledger at `path` does not hold yet. A quick study leaves out some settings."""
    began = time.monotonic()
    plan = [
        (workflow, settings_of(workflow, _FULL if full else _QUICK if workflow.kind == LOG else _GENERATED_QUICK))
        for workflow in found.workflows
    ]
    cells = run_cells(plan, seeds, found.figure_5, path, processes, tell, failures)
    runs = own_runs(found.folder, found.figure_5) if found.folder and found.figure_5 else []
    return Results(seeds, full, failures, found.missing, cells, runs, table_i(), time.monotonic() - began)
