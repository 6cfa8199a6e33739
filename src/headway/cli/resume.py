"""`headway resume`: go on with a run that was stopped or killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.completion import complete_run
from headway.cli.detach import detach_option, go_to_background
from headway.cli.options import json_option, quiet_option, supervision_options
from headway.cli.output import warn
from headway.cli.settings import settings_directory_option

if TYPE_CHECKING:
    from headway.drivers.real import Observer
    from headway.journal.folder import RunFolder
    from headway.model.records import Decision, Event
    from headway.report.run.summary import RunSummary


@click.command("resume", short_help="Go on with a run that was stopped or killed.")
@click.argument("run", required=False, shell_complete=complete_run)
@settings_directory_option
@detach_option
@supervision_options
@quiet_option
@json_option
def command(
    run: str | None, directory: Path, detach: bool, measure: str, grace: float, quiet: bool, as_json: bool
) -> int:
    """Go on with RUN (by default the newest) after Ctrl-C, `headway cancel`, a crash or a reboot.

    What succeeded stays; what is still running is taken up; what was lost runs again. The workflow is the one that
    the run was started with: to run an edited file, use `headway run`, which keeps what has not changed.

    \b
    Examples:
      headway resume           the newest run, right here
      headway resume 3         run number 3
      headway resume --detach  in the background; `headway attach` follows it
      headway resume -C ~/sky  the newest run in ~/sky

    Exit codes are those of `headway run`.
    """
    from headway.cli.finding import find_run

    folder = find_run(directory, run)
    background = [go_to_background(directory, folder.run, as_json=as_json)] if detach else []
    as_json = as_json and not detach

    from headway.cli.watching import watch
    from headway.drivers.runs import Options, resume
    from headway.report.run.summary import RunSummary

    summary = RunSummary()

    def drive(observer: Observer) -> RunFolder:
        observers: list[Observer] = [*background, _CatchUp(observer, summary, folder)]
        resume(folder, Options(grace_s=grace, measure=measure), observers, warn)
        return folder

    return watch(drive, summary, quiet=quiet, as_json=as_json)


class _CatchUp:
    """Lets a summary read what happened before, when the first news arrives: only then nobody else can add to it."""

    def __init__(self, observer: Observer, summary: RunSummary, folder: RunFolder) -> None:
        self._observer = observer
        self._summary = summary
        self._folder = folder
        self._caught_up = False

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        if not self._caught_up:
            self._caught_up = True
            self._read_until(batch[0])
        self._observer(batch)

    def _read_until(self, first: Event | Decision) -> None:
        from headway.cli.finding import reading

        with reading(self._folder) as journal:
            for record in journal.replay():
                if record == first:
                    return
                self._summary.apply(record)
