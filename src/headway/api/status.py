"""`status`: how far a run is. It only reads, so it may be called at any time."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from headway.api.finding import find_run, managers_of, reading, state_of
from headway.api.matching import choose, columns_of, known_column
from headway.api.run_result import RunStatus
from headway.api.saved_summary import summary_of
from headway.drivers.manager_jobs import manager_jobs
from headway.report.run.by_column import by_column
from headway.report.run.story import tasks_of
from headway.report.run.summary import RunSummary
from headway.report.run.task_usage import PartUsage


def status(
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    by: str | None = None,
    only: Sequence[str] = (),
) -> RunStatus:
    """Return how far a run (by default the newest) in `directory` is.

    `by` is a column of a sheet, or another name of `each`, for a table of its values. With `only` just the tasks with
    these values in their columns count: `["sample=s1,s2"]`.
    """
    folder = find_run(Path(directory), run)
    table = None
    with reading(folder) as journal:
        tasks = tasks_of(journal) if by is not None or only else {}
        if only:
            chosen = set(choose((), only, tasks))
            summary: RunSummary = PartUsage(chosen=chosen).read(journal)
            tasks = {id: task for id, task in tasks.items() if id in chosen}
        else:
            summary = summary_of(folder, journal)
        if by is not None:
            known_column(by, columns_of(tasks.values()), "--by")
            table = by_column(by, tasks.values(), summary.state_of)
    manager, jobs = managers_of(folder, summary)
    state = state_of(summary, manager)
    shown = manager_jobs(folder)[-1:] if state == "interrupted" else jobs
    return RunStatus(folder, summary, state, time.time(), manager=manager, jobs=tuple(shown), table=table)
