"""`headway bundle`: pack what a support request needs of a run, without secrets."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.completion import complete_run
from headway.cli.options import directory_option, json_option
from headway.cli.output import print_json


@click.command("bundle", short_help="Pack what a support request needs, without secrets.")
@click.argument("run", required=False, shell_complete=complete_run)
@directory_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file to write; by default headway-run-N.tar.gz, here.",
)
@click.option("--force", is_flag=True, help="Overwrite a FILE that exists.")
@json_option
def command(run: str | None, directory: Path, output: Path | None, force: bool, as_json: bool) -> int:
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

    packed = bundle(run, directory, output, force=force)
    if as_json:
        print_json(packed.document())
    else:
        click.echo(packed.overview)
        click.echo(f"wrote {packed.file}, which only you can read: look into it before you send it")
    return 0
