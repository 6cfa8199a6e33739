"""`headway init`: write a small workflow to start from."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import json_option
from headway.cli.output import print_json


@click.command("init", short_help="Write a small workflow to start from.")
@click.argument("directory", type=click.Path(path_type=Path), default=Path())
@json_option
def command(directory: Path, as_json: bool) -> int:
    """Write a small, commented workflow.yaml into DIRECTORY (by default the current one), ready to run.

    An existing file is never overwritten.

    \b
    Examples:
      headway init && headway run
      headway init first-steps
    """
    from headway.api.init import init

    begun = init(directory)
    if as_json:
        print_json(begun.document())
    else:
        click.echo(f"wrote {begun.workflow}; now try `{begun.next}`")
    return 0
