"""`status`: how far a run is. It only reads, so it may be called at any time."""

from __future__ import annotations

import os
import time
from pathlib import Path

from headway.api.finding import find_run, managers_of, reading
from headway.api.run_result import RunStatus
from headway.api.saved_summary import summary_of
from headway.drivers.manager_jobs import manager_jobs


def status(run: str | None = None, directory: str | os.PathLike[str] = ".") -> RunStatus:
    """Return how far a run (by default the newest) in `directory` is."""
    folder = find_run(Path(directory), run)
    with reading(folder) as journal:
        summary = summary_of(folder, journal)
    manager, jobs = managers_of(folder, summary)
    state = summary.finished or ("running" if manager else "interrupted")
    shown = manager_jobs(folder)[-1:] if state == "interrupted" else jobs
    return RunStatus(folder, summary, state, time.time(), manager=manager, jobs=tuple(shown))
