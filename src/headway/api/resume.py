"""`resume`: go on with a run that was stopped or killed, and wait for the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from headway.api.finding import find_run, reading
from headway.api.run_result import RunResult, ended
from headway.api.saved_summary import Saving
from headway.api.settings import RunSettings, settings_for
from headway.api.telling import telling
from headway.drivers import runs
from headway.drivers.real import Observer
from headway.drivers.run_history import Warn, warn_program
from headway.journal.folder import RunFolder
from headway.model.codec import decode_brief, encode
from headway.model.records import Decision, Event
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary


def resume(
    run: str | None = None,
    directory: str | os.PathLike[str] = ".",
    settings: RunSettings | None = None,
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    warn: Warn = warn_program,
) -> RunResult:
    """Resume a run (by default the newest) in `directory` and return how it ended.

    Of the settings, only how tasks are measured and stopped (`measure`, `grace_s`, `linger_s`) and who is told of it
    (`notify`, `stuck_s`) counts: the rest is what the run was started with. `progress` is brought up to date with the
    journal before it hears news.
    """
    folder = find_run(Path(directory), run)
    progress = progress or Progress(RunSummary())
    settings = settings or settings_for(folder.directory)
    with telling(CatchUp(progress, folder), progress.summary, settings, warn) as watching:
        runs.resume(folder, settings, [*observers, watching, Saving(progress.summary, folder.directory)], warn)
    return ended(folder, progress, settings)


class CatchUp:
    """Lets a progress read the journal when the first news arrives: only then no other manager can append to it."""

    def __init__(self, progress: Progress, folder: RunFolder) -> None:
        self._progress = progress
        self._folder = folder
        self._caught_up = False

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        if not self._caught_up:
            self._caught_up = True
            self._read_until(batch[0])
        self._progress(batch)

    def _read_until(self, first: Event | Decision) -> None:
        news = decode_brief(encode(first))  # as it will be read
        with reading(self._folder) as journal:
            earlier = journal.replay(brief=True)
            # They are told one by one: all of a large run would not fit into memory.
            self._progress.catch_up(takewhile(lambda record: record != news, earlier))
