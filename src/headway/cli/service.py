"""`headway service`: a run that grows by commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import SPAN, directory_option, json_option, option
from headway.cli.output import print_json, warn
from headway.cli.run_options import log_as_set, service_options

if TYPE_CHECKING:
    from headway.api.settings import RunSettings


@click.command("service", short_help="Run commands that other programs submit, in one run.")
@option("--stop", "Let the service here take no more commands, and wait until its last has ended.", is_flag=True)
@option("--idle idle_s", "End when there was no command and no client for this time, such as 10m.", type=SPAN)
@directory_option
@service_options
@json_option
def command(stop: bool, idle_s: float | None, directory: Path, settings: RunSettings, as_json: bool) -> int:
    """Run the commands that `headway exec` and other programs submit, until `headway service --stop`.

    All of them are one run: each command is measured, limited and sized by what earlier ones of its category
    needed, retried with more when it ran out of memory, and with --on slurm packed into jobs. `headway status`,
    `why`, `usage` and `logs` tell of it. Programs reach it by the socket .headway/service, which only its user may use.

    \b
    Examples:
      headway service &                        and then:
      headway exec -- sort big.txt -o sorted.txt
      ls *.fa | xargs -P 50 -I{} headway exec --category align -- ./align {}
      headway service --stop
      headway service --on slurm --idle 30m    commands in jobs of the cluster

    Ctrl-C lets running commands end and starts no others; Ctrl-C again stops them. After a kill or Ctrl-C,
    `headway service` goes on with the run: nothing that was accepted is lost, and nothing runs twice.
    """
    if stop:
        from headway.api.service import stop_service

        stopped = stop_service(directory)
        if as_json:
            print_json(stopped.document())
        else:
            click.echo(stopped.message)
        return 0
    log_as_set(settings)

    from headway.api.service import service
    from headway.cli.watching import watch

    return watch(
        lambda progress: service(directory, settings, idle_s=idle_s, progress=progress, warn=warn),
        quiet=settings.quiet,
        as_json=as_json,
    )
