"""`headway cancel`: stop a run at once."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option
from headway.cli.output import print_json, warn


@click.command("cancel", short_help="Stop a run at once, resumable.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@click.option("--wait/--no-wait", default=True, show_default=True, help="Return only when the run has stopped.")
@json_option
def command(run: str | None, directory: Path, wait: bool, as_json: bool) -> int:
    """Stop RUN (by default the newest) at once: its tasks get SIGTERM, then SIGKILL.

    What succeeded is kept, and `headway resume` goes on with the rest. It also ends tasks whose manager was killed.

    \b
    Examples:
      headway cancel
      headway cancel -C ~/sky 3
    """
    from headway.api.cancel import cancel

    cancelled = cancel(run, directory, wait=wait, warn=warn)
    if as_json:
        print_json(cancelled.document())
    else:
        click.echo(cancelled.message)
    return 0
