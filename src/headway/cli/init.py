"""`headway init`: write a small workflow to start from."""

from __future__ import annotations

from pathlib import Path

import click

from headway.api.init import Begun, init
from headway.cli.options import answers


@click.command("init", short_help="Write a small workflow to start from.")
@click.argument("directory", type=click.Path(path_type=Path), default=Path())
@answers(lambda _, begun: click.echo(f"wrote {begun.workflow}; now try `{begun.next}`"))
def command(directory: Path) -> Begun:
    """Write a small, commented workflow.yaml into DIRECTORY (by default the current one), ready to run.

    An existing file is never overwritten.

    \b
    Examples:
      headway init && headway run
      headway init first-steps
    """
    return init(directory)
