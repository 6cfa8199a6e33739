"""`headway attach`: follow a run that another process manages, until it ends."""

from __future__ import annotations

from pathlib import Path

import click

from headway.api.follow import follow
from headway.api.run_result import RunResult
from headway.cli.options import directory_option, json_option, quiet_option, run_argument
from headway.cli.watching import watch
from headway.report.run.progress import Progress


@click.command("attach", short_help="Follow a run in the background until it ends.")
@run_argument
@directory_option
@quiet_option
@json_option
def command(run: str | None, directory: Path, quiet: bool, as_json: bool) -> int:
    """Follow RUN (by default the newest), which another process manages, as if it had been started here.

    It only reads: Ctrl-C leaves the run alone, and a run may be followed from several shells. If the run is over,
    how it ended is printed at once.

    \b
    Examples:
      headway run --detach && headway attach
      headway attach -C ~/sky 3
      headway attach --quiet && echo "all is done"

    Exit codes are those of `headway run`; 130 also if you leave with Ctrl-C, 3 if the run has no manager any more.
    """
    followed = run or ""

    def drive(progress: Progress) -> RunResult:
        nonlocal followed
        try:
            return follow(run, directory, progress=progress)
        finally:
            followed = progress.summary.settings.run if progress.summary.settings else followed

    try:
        return watch(drive, quiet=quiet, as_json=as_json)
    except KeyboardInterrupt:
        click.echo(f"headway: run {followed} goes on; `headway attach` follows it again", err=True)
        return 130
