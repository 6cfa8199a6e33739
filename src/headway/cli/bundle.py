"""`headway bundle`: pack what a support request needs of a run, without secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from headway.cli.options import answers, directory_option, option, run_argument

if TYPE_CHECKING:
    from headway.api.bundle import Bundle


def _print(_: Console, packed: Bundle) -> None:
    click.echo(packed.overview)
    click.echo(f"wrote {packed.file}, which only you can read: look into it before you send it")


@click.command("bundle", short_help="Pack what a support request needs, without secrets.")
@run_argument
@directory_option
@option(
    "-o --output FILE",
    "The file to write; by default headway-run-N.tar.gz, here.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@option("--force", "Overwrite a FILE that exists.", is_flag=True)
@answers(_print)
def command(run: str | None, directory: Path, output: Path | None, force: bool) -> Bundle:
    """Pack RUN (by default the newest) into a file that you can attach to a support request.

    It holds the journal as JSON lines, logs of managers and jobs, settings, versions and what `headway doctor` says.
    Values of the tasks' `env`, and passwords, tokens and keys that are recognised, are removed; names of users,
    machines and files, and the tasks' commands stay. Only you can read the file: look into it before you send it.

    \b
    Examples:
      headway bundle
      headway bundle 3 -o problem.tar.gz && tar -tzf problem.tar.gz
    """
    from headway.api.bundle import bundle

    return bundle(run, directory, output, force=force)
