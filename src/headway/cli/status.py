"""`headway status`: show how far a run is."""

from __future__ import annotations

from pathlib import Path

import click

from headway.api.run_result import RunStatus
from headway.api.status import status
from headway.cli.completion import complete_column
from headway.cli.options import answers, directory_option, option, run_argument
from headway.cli.task_options import only_option
from headway.report.run.status_text import print_status


@click.command("status", short_help="Show how far a run is.")
@run_argument
@option("--by COLUMN", "A table: a row for each value of a column, such as sample.", shell_complete=complete_column)
@only_option
@directory_option
@answers(
    lambda console, it: print_status(console, it.summary, it.folder, it.state, it.manager, it.at, it.where, it.table)
)
def command(run: str | None, by: str | None, only: tuple[str, ...], directory: Path) -> RunStatus:
    """Show how far RUN (by default the newest) is: a bar per category, what is running, what failed.

    --by shows instead a row for each value of a column of the sample sheet, or of another name of `each`, and a mark
    for each category. Rows that need attention come first if there are many.

    It only reads, so it may be used at any time, also while the run goes on.

    \b
    Examples:
      headway status
      headway status --by sample
      headway status --only sample=s1,s2
      headway status 3 --json | jq .tasks
      watch headway status

    The exit code is 0 if the run could be read, also if the run failed.
    """
    return status(run, directory, by=by, only=only)
