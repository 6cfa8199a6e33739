"""`headway status`: show how far a run is."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option
from headway.cli.output import console_for, print_json


@click.command("status", short_help="Show how far a run is.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@json_option
def command(run: str | None, directory: Path, as_json: bool) -> int:
    """Show how far RUN (by default the newest) is: a bar per category, what is running, what failed.

    It only reads, so it may be used at any time, also while the run goes on.

    \b
    Examples:
      headway status
      headway status 3 --json | jq .tasks
      watch headway status

    The exit code is 0 if the run could be read, also if the run failed.
    """
    from headway.api.status import status

    found = status(run, directory)
    if as_json:
        print_json(found.document())
    else:
        from headway.report.run.status_text import print_status

        print_status(console_for(), found.summary, found.folder, found.state, found.manager, found.at)
    return 0
