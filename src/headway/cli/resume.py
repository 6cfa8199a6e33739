"""`headway resume`: go on with a run that was stopped or killed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.api.choices import IN_JOB
from headway.cli.detached import detach_option, print_detached
from headway.cli.options import directory_option, json_option, run_argument
from headway.cli.output import warn
from headway.cli.run_options import log_as_set, supervision_options

if TYPE_CHECKING:
    from headway.api.settings import RunSettings


@click.command("resume", short_help="Go on with a run that was stopped or killed.")
@run_argument
@directory_option
@detach_option
@supervision_options
@json_option
def command(run: str | None, directory: Path, detach: bool, settings: RunSettings, as_json: bool) -> int:
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
    if detach or settings.manager == IN_JOB:
        from headway.api.detach import detach as detach_run

        return print_detached(detach_run(None, directory, settings, run=run, warn=warn), as_json=as_json)

    from headway.api.resume import resume
    from headway.cli.watching import watch

    log_as_set(settings)
    return watch(
        lambda progress: resume(run, directory, settings, progress=progress, warn=warn),
        quiet=settings.quiet,
        as_json=as_json,
    )
