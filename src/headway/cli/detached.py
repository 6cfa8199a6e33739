"""`--detach` of `headway run` and `resume`: say where the run in the background is."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import click

from headway.cli.options import option
from headway.cli.output import print_json

if TYPE_CHECKING:
    from headway.api.detach import Detached


detach_option = option(
    "--detach", "Go on in the background, also after a logout; return when the run has begun.", is_flag=True
)


def print_detached(detached: Detached, *, as_json: bool) -> int:
    """Say where the run is; if it is over already, repeat what it wrote. Returns the exit code."""
    for line in detached.output.splitlines():
        click.echo(line, err=line.startswith("headway: ") or as_json)
    if as_json:
        print_json(detached.document())
    elif detached.exit_code is None:
        _print(detached)
    return detached.exit_code or 0


def _print(detached: Detached) -> None:
    from headway.report.run.ending import shown

    run, directory = detached.run, detached.directory
    here = os.path.realpath(os.getcwd()) == os.path.realpath(directory)
    where = "" if here else f" -C {shlex.quote(shown(directory))}"
    if detached.manager_job is not None:
        click.echo(f"run {run} is managed in job {detached.manager_job}, which Slurm will start; you may log out")
    else:
        about = f"as process {detached.manager_pid} on {detached.host}; you may log out"
        click.echo(f"run {run} goes on in the background, {about}")
    click.echo(f"→ headway attach{where} {run}    follow it (Ctrl-C leaves it alone)")
    click.echo(f"→ headway status{where} {run}    how far is it?")
    click.echo(f"→ headway cancel{where} {run}    stop it")
    click.echo(f"log in {shown(detached.log)}")
