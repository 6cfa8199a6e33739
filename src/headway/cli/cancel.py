"""`headway cancel`: stop a run at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import answers, directory_option, option, run_argument
from headway.cli.output import warn

if TYPE_CHECKING:
    from headway.api.cancel import Cancelled


@click.command("cancel", short_help="Stop a run at once, resumable.")
@run_argument
@directory_option
@option("--wait/--no-wait", "Return only when the run has stopped.", default=True)
@answers(lambda _, cancelled: click.echo(cancelled.message))
def command(run: str | None, directory: Path, wait: bool) -> Cancelled:
    """Stop RUN (by default the newest) at once: its tasks get SIGTERM, then SIGKILL.

    What succeeded is kept, and `headway resume` goes on with the rest. It also ends tasks whose manager was killed.

    \b
    Examples:
      headway cancel
      headway cancel -C ~/sky 3
    """
    from headway.api.cancel import cancel

    return cancel(run, directory, wait=wait, warn=warn)
