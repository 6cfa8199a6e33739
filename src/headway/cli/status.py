"""`headway status`: show how far a run is."""

from __future__ import annotations

from pathlib import Path

import click

from headway.api.run_result import RunStatus
from headway.api.status import status
from headway.cli.options import answers, directory_option, run_argument
from headway.report.run.status_text import print_status


@click.command("status", short_help="Show how far a run is.")
@run_argument
@directory_option
@answers(lambda console, it: print_status(console, it.summary, it.folder, it.state, it.manager, it.at, it.where))
def command(run: str | None, directory: Path) -> RunStatus:
    """Show how far RUN (by default the newest) is: a bar per category, what is running, what failed.

    It only reads, so it may be used at any time, also while the run goes on.

    \b
    Examples:
      headway status
      headway status 3 --json | jq .tasks
      watch headway status

    The exit code is 0 if the run could be read, also if the run failed.
    """
    return status(run, directory)
