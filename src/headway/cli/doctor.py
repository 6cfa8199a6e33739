"""`headway doctor`: check whether Headway can work here, and how well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.api.doctor import FAIL, OK, WARN, Diagnosis, doctor
from headway.cli.job_options import batch_of, job_options
from headway.cli.options import answers, directory_option, option
from headway.model.errors import InputError


def _print(console: Console, found: Diagnosis) -> None:
    styles = {OK: "green", WARN: "bold yellow", FAIL: "bold red"}
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column()
    for check in found.checks:
        grid.add_row(Text(check.mark, style=styles[check.mark]), Text(check.about, style="bold"), Text(check.found))
    console.print(grid)


@click.command("doctor", short_help="Check whether Headway can work here.")
@directory_option
@option("--on cluster", "Check also whether jobs can be submitted to this cluster.", type=click.Choice(["slurm"]))
@option("--container IMAGE", "Start a container of this image, such as docker://alpine:3.")
@job_options
@answers(_print, exit_code=lambda found: 0 if found.works else 3)
def command(directory: Path, cluster: str | None, container: str | None, **jobs: Any) -> Diagnosis:
    """Check this machine and this directory: what they have, how tasks are measured, and what is in the way.

    With --on slurm the cluster is checked as well, with about ten calls of Slurm's commands; nothing is submitted.
    With --container the container runtime runs `true` in that image, which it may have to download.
    The exit code is 0, or 3 if Headway cannot work here at all; a warning says what would work better.
    """
    batch = batch_of(jobs)
    if batch and cluster is None:
        raise InputError("options of jobs are about a batch system", todo="add --on slurm")
    return doctor(directory, cluster, container, batch)
