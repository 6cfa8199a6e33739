"""`start`: run what is new or has changed of a workflow, and wait for the end."""

from __future__ import annotations

import os
from collections.abc import Sequence

from headway.api.run_result import RunResult, ended
from headway.api.runnable import Scale, runnable
from headway.api.saved_summary import Saving
from headway.api.settings import RunSettings
from headway.api.telling import telling
from headway.drivers import runs
from headway.drivers.real import Observer
from headway.drivers.run_history import Warn, warn_program
from headway.model.workflow import Workflow
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary


def start(
    workflow: Workflow | str | os.PathLike[str] = "workflow.yaml",
    directory: str | os.PathLike[str] | None = None,
    settings: RunSettings | None = None,
    *,
    stand_ins: Scale | None = None,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    warn: Warn = warn_program,
) -> RunResult:
    """Run a workflow, or the workflow in a file, and return how it ended.

    It runs in `directory`: by default the file's, for a workflow built in code the current one. Without `settings`,
    environment variables and settings files count, as for `headway run`. `stand_ins` runs stand-ins for the tasks of a
    recorded execution. `progress` and `observers` are called with records when these are durable; `warn` is told of
    trouble that does not stop the run.
    """
    what = runnable(workflow, directory, settings, stand_ins)
    progress = progress or Progress(RunSummary())
    with telling(progress, progress.summary, what.settings, warn) as watching:
        what.make_files()
        folder, _ = runs.start(
            what.workflow,
            what.directory,
            what.settings,
            source=what.source,
            observers=[*observers, watching, Saving(progress.summary, what.directory)],
            warn=warn,
            explain=what.explain,
        )
    return ended(folder, progress, what.settings)
