"""`cancel`: stop a run at once, whether or not a process manages it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from headway.api.answers import Answer
from headway.api.finding import find_run, reading
from headway.drivers import runs
from headway.drivers.run_history import Warn, warn_program
from headway.journal.folder import Project, RunFolder
from headway.model.records import Finish

_LOOK_EVERY_S = 0.05
_ASK_SLURM_EVERY_S = 2.0


class Cancelled(Answer, frozen=True):
    """A run that was told to stop: its state (`running` until its manager has stopped) and a sentence about it."""

    run: str
    state: str
    message: str


def cancel(
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    wait: bool = True,
    warn: Warn = warn_program,
) -> Cancelled:
    """Stop a run (by default the newest) at once, and `wait` until it has stopped.

    Its tasks get SIGTERM, then SIGKILL. What succeeded is kept, and `resume` goes on with the rest.
    """
    folder = find_run(Path(directory), run)
    message = runs.cancel(folder, warn)
    if wait:
        _wait(folder)
    if wait and _state(folder) == "running":  # its manager was killed, or could not stop it any more
        message = runs.cancel(folder, warn)
    state = _state(folder)
    if state == "stopped":
        message = f"run {folder.run} is stopped; `headway resume` goes on with it"
    return Cancelled(folder.run, state, message)


def _wait(folder: RunFolder) -> None:
    """Wait until the manager has gone or, if it is in a job, has stopped the run."""
    project = Project(folder.directory)
    while True:
        while (manager := project.manager()) is not None and manager.run == folder.run:
            time.sleep(_LOOK_EVERY_S)
        if _state(folder) != "running" or not runs.is_managed(folder):
            return
        time.sleep(_ASK_SLURM_EVERY_S)


def _state(folder: RunFolder) -> str:
    with reading(folder) as journal:
        last = next(reversed(list(journal.replay(kinds=["finish", "resumed"]))), None)
    return last.status if isinstance(last, Finish) else "running"
