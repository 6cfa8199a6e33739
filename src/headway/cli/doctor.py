"""`headway doctor`: check whether Headway can work here, and how well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import directory_option, json_option
from headway.cli.output import console_for, print_json

if TYPE_CHECKING:
    from headway.api.checks import Check


@click.command("doctor", short_help="Check whether Headway can work here.")
@directory_option
@click.option(
    "--on", "cluster", type=click.Choice(["slurm"]), help="Check also whether jobs can be submitted to this cluster."
)
@click.option("--container", metavar="IMAGE", help="Start a container of this image, such as docker://alpine:3.")
@json_option
def command(directory: Path, cluster: str | None, container: str | None, as_json: bool) -> int:
    """Check this machine and this directory: what they have, how tasks are measured, and what is in the way.

    With --on slurm the cluster is checked as well, with about ten calls of Slurm's commands; nothing is submitted.
    With --container the container runtime runs `true` in that image, which it may have to download.
    The exit code is 0, or 3 if Headway cannot work here at all; a warning says what would work better.
    """
    from headway.api.doctor import doctor

    found = doctor(directory, cluster, container)
    if as_json:
        print_json(found.document())
    else:
        _print(found.checks)
    return 0 if found.works else 3


def _print(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    from headway.api.checks import FAIL, OK, WARN

    console = console_for()
    styles = {OK: "green", WARN: "bold yellow", FAIL: "bold red"}
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column()
    for check in checks:
        grid.add_row(Text(check.mark, style=styles[check.mark]), Text(check.about, style="bold"), Text(check.found))
    console.print(grid)
