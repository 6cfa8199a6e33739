"""`headway receive`: learn from Nextflow runs that send their events here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli.options import directory_option, json_option, option
from headway.cli.output import print_json, warn

if TYPE_CHECKING:
    from headway.api.receive import Listening


@click.command("receive", short_help="Learn from Nextflow runs that send their events here.")
@option("--host", "The address to listen at; by default this machine's own, which no other can reach.", metavar="HOST")
@option("--port", "The port; 0 for any that is free.", type=click.IntRange(0, 65535), default=8787)
@option("--token-file FILE", "The token that Nextflow must send; by default .headway/receive-token, made if needed.")
@directory_option
@json_option
def command(host: str | None, port: int, token_file: str | None, directory: Path, as_json: bool) -> int:
    """Receive what Nextflow tells of its tasks, as Seqera Platform (once Tower) would, and learn from it; until Ctrl-C.

    Nothing changes in how pipelines run: any Nextflow that is given the address and the token sends the events. What
    its tasks used is kept in the history, as if `headway nextflow` had run them in this directory: `headway advise`
    and the next `headway nextflow`, with or without --sizes-only, begin with it.

    \b
    Examples:
      headway receive &                        says what to set:
      export TOWER_ACCESS_TOKEN=$(cat .headway/receive-token)
      nextflow run main.nf -with-tower http://127.0.0.1:8787
      headway history show commands
    """
    from headway.api.receive import HOST, receive

    def listening(where: Listening) -> None:
        if as_json:
            print_json(where.document())
        else:
            click.echo("Nextflow sends its events here with:", err=True)
            click.echo(f"  export TOWER_ACCESS_TOKEN=$(cat {where.token_file})", err=True)
            click.echo(f"  nextflow run … -with-tower {where.endpoint}", err=True)

    done = receive(directory, host=host or HOST, port=port, token_file=token_file, listening=listening, warn=warn)
    if as_json:
        print_json(done.document())
    else:
        click.echo(f"learned from {done.attempts} attempts at tasks of {done.runs} runs, in {done.history}", err=True)
    return 0
